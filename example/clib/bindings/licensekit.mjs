// The license of a program: the JavaScript binding of licensekit.h, which says what each
// function does. For Node.js 18 or later and Electron, with the package koffi.
//
//   const lic = new License({url: 'https://acme.example/licensing', keys, product_id: 'atlas'})
//   if (lic.has('export')) …
//
// What waits for the service returns a promise, and runs on a thread of libuv.
import {fileURLToPath} from 'node:url'
import {dirname, join} from 'node:path'
import {promisify} from 'node:util'
import koffi from 'koffi'

const file = {win32: 'licensekit.dll', darwin: 'liblicensekit.dylib'}[process.platform] ?? 'liblicensekit.so'
const lib = koffi.load(process.env.LICENSEKIT_LIBRARY ?? join(dirname(fileURLToPath(import.meta.url)), file))
const Text = 'Text' + Math.random().toString(36).slice(2) // koffi knows a name once, and bundlers may load this twice
koffi.disposable(Text, 'str', lib.func('void lk_free(void *text)'))
const f = Object.fromEntries([
  'str lk_version()', 'uint64_t lk_open(str o, uint8_t *r)', 'uint64_t lk_fixed(str s, uint8_t *r)', 'int lk_close(uint64_t l)',
  'int lk_valid(uint64_t l, uint8_t *r)', 'int64_t lk_valid_until(uint64_t l)', 'Text lk_status(uint64_t l)', 'int lk_has(uint64_t l, str n)',
  'int lk_number(uint64_t l, str n, _Out_ double *v)', 'Text lk_text(uint64_t l, str n)', 'uint64_t lk_wait(uint64_t l, uint64_t seen, int ms)',
  'int lk_set_key(uint64_t l, str k, int ms, uint8_t *r)', 'int lk_take_over(uint64_t l, int ms, uint8_t *r)',
  'int lk_release(uint64_t l, int ms, uint8_t *r)', 'int lk_refresh(uint64_t l, int ms, uint8_t *r)', 'Text lk_link(uint64_t l, int ms, uint8_t *r)',
  'Text lk_devices(uint64_t l, int ms, uint8_t *r)', 'int lk_free_device(uint64_t l, str id, int ms, uint8_t *r)',
  'int lk_link_wait(uint64_t l, int ms, uint8_t *r)', 'Text lk_request(uint64_t l, uint8_t *r)', 'int lk_install(uint64_t l, str t, uint8_t *r)',
  'int lk_use(uint64_t l, str m, int64_t n, int ms, uint8_t *r)', 'int lk_count(uint64_t l, str m, int64_t n)',
  'Text lk_verify(str keys, str file, str expect, uint8_t *r)',
].map(d => [/lk_(\w+)/.exec(d)[1], lib.func(d.replace('Text ', Text + ' '))]))

// Why a call had no effect: code is for the program, message one sentence for the user.
export class LicenseError extends Error {
  constructor(code, message) {
    super(message)
    this.code = code
  }
}

// A reason is an lk_reason.
const size = 1024
const text = (reason, from, to) => reason.toString('utf8', from, reason.indexOf(0, from) < to ? reason.indexOf(0, from) : to)
const said = reason => [text(reason, 0, 64), text(reason, 64, size)]

function call(name, ...args) {
  const reason = Buffer.alloc(size), result = f[name](...args, reason)
  if (!result) throw new LicenseError(...said(reason))
  return result
}

async function wait(name, ...args) {
  const reason = Buffer.alloc(size), result = await promisify(f[name].async)(...args, reason)
  if (!result) throw new LicenseError(...said(reason))
  return result
}

export const version = () => f.version()
export const verify = (keys, file, expect) =>
  JSON.parse(call('verify', typeof keys === 'string' ? keys : JSON.stringify(keys), file, JSON.stringify(expect)))

export class License {
  #handle

  // Takes the options of lk_open. It waits for the service if there is no license file;
  // License.open does not block the thread.
  constructor(options) {
    this.#handle = typeof options === 'object' ? call('open', JSON.stringify(options)) : options
  }
  static async open(options) { return new License(await wait('open', JSON.stringify(options))) }
  static fixed(status) { return new License(call('fixed', JSON.stringify(status))) }

  // Whether the license is valid, the code and the message of one moment.
  check() {
    const reason = Buffer.alloc(size), valid = f.valid(this.#handle, reason) === 1
    const [code, message] = said(reason)
    return {valid, code, message}
  }
  get valid() { return this.check().valid }
  get message() { return this.check().message }
  get validUntil() { return new Date(Number(f.valid_until(this.#handle)) * 1000) }
  get status() { return JSON.parse(f.status(this.#handle) ?? 'null') }
  has(entitlement) { return f.has(this.#handle, entitlement) === 1 }
  number(entitlement) {
    const value = [0]
    return f.number(this.#handle, entitlement, value) ? value[0] : null
  }
  text(entitlement) { return f.text(this.#handle, entitlement) }

  async setKey(key, ms = 0) { await wait('set_key', this.#handle, key, ms) }
  async takeOver(ms = 0) { await wait('take_over', this.#handle, ms) }
  async release(ms = 0) { await wait('release', this.#handle, ms) }
  async refresh(ms = 0) { await wait('refresh', this.#handle, ms) }
  async link(ms = 0) { return JSON.parse(await wait('link', this.#handle, ms)) }
  // A second at a time, because Node.js cannot end before its threads do.
  async linkWait(ms = 600_000) {
    for (; ; ms -= 1000) {
      try { await wait('link_wait', this.#handle, Math.min(ms, 1000)); return } catch (e) { if (e.code !== 'timeout' || ms <= 1000) throw e }
    }
  }
  async devices(ms = 0) { return JSON.parse(await wait('devices', this.#handle, ms)) }
  async freeDevice(id, ms = 0) { await wait('free_device', this.#handle, id, ms) }
  async use(meter, n = 1, ms = 0) { await wait('use', this.#handle, meter, n, ms) }
  count(meter, n = 1) { return f.count(this.#handle, meter, n) === 1 }
  request() { return call('request', this.#handle) }
  install(text) { call('install', this.#handle, text) }

  // Calls call() after a change, within a second. It keeps no process alive.
  onChange(call) {
    let seen = f.wait(this.#handle, 0, 0)
    const timer = setInterval(() => {
      const before = seen
      seen = f.wait(this.#handle, before, 0)
      if (!seen) clearInterval(timer)
      else if (seen !== before) call()
    }, 1000).unref()
  }
  async close() { return await promisify(f.close.async)(this.#handle) === 1 }
}
