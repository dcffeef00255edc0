# The license of a program: the Ruby binding of licensekit.h, which says what each function
# does. For Ruby 3.0 or later, with the gem ffi.
#
#   LicenseKit::License.open(url: 'https://acme.example/licensing', keys: KEYS, product_id: 'atlas') do |lic|
#     lic.has?('export')
#   end
require 'ffi'
require 'json'

module LicenseKit
  module Lib
    extend FFI::Library
    ffi_lib ENV['LICENSEKIT_LIBRARY'] || File.join(__dir__, FFI.map_library_name('licensekit'))
    {
      version: [[], :string], open: [%i[string pointer], :uint64], fixed: [%i[string pointer], :uint64], close: [%i[uint64], :int],
      valid: [%i[uint64 pointer], :int], valid_until: [%i[uint64], :int64], status: [%i[uint64], :pointer], has: [%i[uint64 string], :int],
      number: [%i[uint64 string pointer], :int], text: [%i[uint64 string], :pointer], wait: [%i[uint64 uint64 int], :uint64],
      set_key: [%i[uint64 string int pointer], :int], take_over: [%i[uint64 int pointer], :int], release: [%i[uint64 int pointer], :int],
      refresh: [%i[uint64 int pointer], :int], link: [%i[uint64 int pointer], :pointer], link_wait: [%i[uint64 int pointer], :int],
      devices: [%i[uint64 int pointer], :pointer], free_device: [%i[uint64 string int pointer], :int], request: [%i[uint64 pointer], :pointer],
      install: [%i[uint64 string pointer], :int], use: [%i[uint64 string int64 int pointer], :int], count: [%i[uint64 string int64], :int],
      verify: [%i[string string string pointer], :pointer], free: [%i[pointer], :void]
    }.each do |name, (arguments, result)| # other threads of Ruby run during what waits
      attach_function "lk_#{name}", arguments, result, blocking: %i[open close].include?(name) || arguments.last(2) == %i[int pointer]
    end
  end

  # Why a call had no effect: code is for the program, message one sentence for the user.
  class Error < StandardError
    attr_reader :code

    def initialize(code, message)
      super(message)
      @code = code
    end
  end

  # A status, of one moment.
  Check = Struct.new(:valid, :code, :message)

  class << self
    def version = Lib.lk_version

    # Returns the claims of a license file.
    def verify(keys, file, expect)
      JSON.parse(text(call(:lk_verify, keys.is_a?(String) ? keys : JSON.generate(keys), file, JSON.generate(expect))))
    end

    # Calls a function that takes a reason, and returns its result or raises it.
    def call(name, *args)
      why = FFI::MemoryPointer.new(1024)
      result = Lib.public_send(name, *args, why)
      raise Error.new(*said(why)) if result.is_a?(FFI::Pointer) ? result.null? : result.zero?

      result
    end

    def said(why) = [why.get_string(0), why.get_string(64)].map { |s| s.force_encoding('UTF-8') }

    def text(pointer)
      pointer.read_string.force_encoding('UTF-8') unless pointer.null?
    ensure
      Lib.lk_free(pointer)
    end
  end

  # Safe for threads.
  class License
    # Takes the options of lk_open; with a block, closes the license after it.
    def self.open(**options)
      lic = new(LicenseKit.call(:lk_open, JSON.generate(options)))
      return lic unless block_given?

      begin yield lic ensure lic.close end
    end

    def self.fixed(**status) = new(LicenseKit.call(:lk_fixed, JSON.generate(status)))

    def initialize(handle) = @handle = handle

    def check
      why = FFI::MemoryPointer.new(1024)
      valid = Lib.lk_valid(@handle, why) == 1
      Check.new(valid, *LicenseKit.said(why))
    end

    def valid? = check.valid
    def message = check.message
    def valid_until = Time.at(Lib.lk_valid_until(@handle))
    def status = JSON.parse(LicenseKit.text(Lib.lk_status(@handle)) || 'null')
    def has?(entitlement) = Lib.lk_has(@handle, entitlement) == 1
    def text(entitlement) = LicenseKit.text(Lib.lk_text(@handle, entitlement))

    def number(entitlement)
      value = FFI::MemoryPointer.new(:double)
      value.read_double if Lib.lk_number(@handle, entitlement, value) == 1
    end

    def set_key(key, ms = 0) = LicenseKit.call(:lk_set_key, @handle, key, ms)
    def take_over(ms = 0) = LicenseKit.call(:lk_take_over, @handle, ms)
    def release(ms = 0) = LicenseKit.call(:lk_release, @handle, ms)
    def refresh(ms = 0) = LicenseKit.call(:lk_refresh, @handle, ms)
    def link(ms = 0) = JSON.parse(LicenseKit.text(LicenseKit.call(:lk_link, @handle, ms)))
    def devices(ms = 0) = JSON.parse(LicenseKit.text(LicenseKit.call(:lk_devices, @handle, ms)))
    def free_device(id, ms = 0) = LicenseKit.call(:lk_free_device, @handle, id, ms)
    def request = LicenseKit.text(LicenseKit.call(:lk_request, @handle))
    def install(text) = LicenseKit.call(:lk_install, @handle, text)
    def use(meter, n = 1, ms = 0) = LicenseKit.call(:lk_use, @handle, meter, n, ms)
    def count(meter, n = 1) = Lib.lk_count(@handle, meter, n) == 1

    # Waits a second at a time, so that Ctrl-C ends it.
    def link_wait(ms = 600_000)
      LicenseKit.call(:lk_link_wait, @handle, [ms, 1000].min)
    rescue Error => e
      raise if e.code != 'timeout' || (ms -= 1000) <= 0

      retry
    end

    # Calls the block on a thread of its own after a change, within a second, until close. It
    # does not wait in the library, because Ruby could not end that wait at its exit.
    def on_change
      Thread.new do
        seen = Lib.lk_wait(@handle, 0, 0)
        while seen != 0
          sleep 1
          now = Lib.lk_wait(@handle, seen, 0)
          yield if now != 0 && now != seen
          seen = now
        end
      end
    end

    def close = Lib.lk_close(@handle) == 1
  end
end
