# What a user expects of a program's first window, in a terminal: whether it is licensed, how it
# is activated, and on which devices.
#
#   ruby menu.rb options.json
#
# options.json has the options of lk_open; a real program has them in itself.
require 'licensekit'

$stdout.sync = true

def ask(prompt)
  print prompt, ' '
  $stdin.gets.to_s.strip
end

def in_the_browser(lic)
  link = lic.link
  puts "Open #{link['url']} and compare the code: #{link['code']}. Waiting for the approval ..."
  lic.link_wait
end

def with_a_key(lic) = lic.set_key(ask('License key:'))

def with_a_file(lic)
  puts "Send this to the vendor: #{lic.request}"
  lic.install(File.read(ask('File that the vendor sent:')))
end

def devices(lic)
  found = lic.devices
  found.each.with_index(1) do |device, n|
    puts "#{n} #{device['name']} #{device['this'] ? '(this device)' : "last seen #{device['last_seen_at'][0, 10]}"}"
  end
  n = ask('Free the seat of number (Enter: none):').to_i
  return unless n.between?(1, found.size)

  lic.free_device(found[n - 1]['id'])
  lic.refresh unless found[n - 1]['this'] # takes the seat
end

MENU = <<~TEXT
  1 Activate in the browser
  2 Enter a license key
  3 Install a license file
  4 Check again
  5 Devices
  0 Quit
TEXT

LicenseKit::License.open(**JSON.parse(File.read(ARGV[0]), symbolize_names: true)) do |lic|
  loop do
    state = lic.check
    puts "\n#{state.valid ? 'Licensed.' : 'Not licensed.'} #{state.message}", MENU
    case ask('Choose:')
    when '1' then in_the_browser(lic)
    when '2' then with_a_key(lic)
    when '3' then with_a_file(lic)
    when '4' then lic.refresh
    when '5' then devices(lic)
    when '0', '' then break
    end
  rescue LicenseKit::Error, SystemCallError => e
    puts "That had no effect: #{e.message}"
  end
end
