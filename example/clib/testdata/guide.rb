require 'licensekit'

def show(message) = puts("show #{message}")
def offer_export = puts('export')

options = JSON.parse(ARGV[0], symbolize_names: true)
begin
  # guide
  lic = LicenseKit::License.open(**options) # raises a LicenseKit::Error if an option is wrong
  state = lic.check
  show(state.message) unless state.valid
  offer_export if lic.has?('export')
  # guide
  lic.close
rescue LicenseKit::Error => e
  puts "fail #{e.message}"
end
