require 'licensekit'

$stdout.sync = true
$stdin.set_encoding('UTF-8')
lic, noticed = nil, 0
ok = ->(_) { 'ok' }
object = ->(text) { JSON.parse(text, symbolize_names: true) }
commands = {
  'open' => ->(o) { lic = LicenseKit::License.open(**object[o]); 'ok' },
  'fixed' => ->(s) { lic = LicenseKit::License.fixed(**object[s]); 'ok' },
  'valid' => -> { s = lic.check; "#{s.valid} #{s.code} #{s.message}" },
  'valid_until' => -> { lic.valid_until.to_i },
  'status' => -> { JSON.generate(lic.status) },
  'has' => ->(n) { lic.has?(n) },
  'number' => ->(n) { (v = lic.number(n)) ? v.to_s.delete_suffix('.0') : 'none' },
  'text' => ->(n) { lic.text(n) || 'none' },
  'set_key' => ->(k, ms) { ok[lic.set_key(k, ms.to_i)] },
  'take_over' => ->(ms) { ok[lic.take_over(ms.to_i)] },
  'release' => ->(ms) { ok[lic.release(ms.to_i)] },
  'refresh' => ->(ms) { ok[lic.refresh(ms.to_i)] },
  'link' => -> { JSON.generate(lic.link) },
  'link_wait' => ->(ms) { ok[lic.link_wait(ms.to_i)] },
  'devices' => ->(ms) { JSON.generate(lic.devices(ms.to_i)) },
  'free_device' => ->(id, ms) { ok[lic.free_device(id, ms.to_i)] },
  'request' => -> { lic.request },
  'install' => ->(t) { ok[lic.install(t)] },
  'use' => ->(m, n, ms) { ok[lic.use(m, n.to_i, ms.to_i)] },
  'count' => ->(m, n) { lic.count(m, n.to_i) },
  'verify' => ->(k, f, e) { JSON.generate(LicenseKit.verify(k, f, object[e])) },
  'watch' => -> { ok[lic.on_change { noticed += 1 }] },
  'noticed' => -> { noticed },
  'close' => -> { lic.close },
  'version' => -> { LicenseKit.version },
  'null' => lambda {
    begin
      nil.x
    rescue NoMethodError
      'caught'
    end
  }
}
while (line = $stdin.gets)
  command, *args = line.chomp.split("\t", -1)
  begin
    puts commands[command].call(*args).to_s
  rescue LicenseKit::Error => e
    puts "!#{e.code} #{e.message}"
  end
end
