import {createInterface} from 'node:readline'
import * as lk from './licensekit.mjs'

let lic, noticed = 0

const commands = {
  open: async o => { lic = await lk.License.open(JSON.parse(o)) },
  fixed: s => { lic = lk.License.fixed(JSON.parse(s)) },
  valid: () => { const s = lic.check(); return `${s.valid} ${s.code} ${s.message}` },
  valid_until: () => lic.validUntil / 1000,
  status: () => JSON.stringify(lic.status),
  has: n => lic.has(n),
  number: n => lic.number(n) ?? 'none',
  text: n => lic.text(n) ?? 'none',
  set_key: (k, ms) => lic.setKey(k, +ms),
  take_over: ms => lic.takeOver(+ms),
  release: ms => lic.release(+ms),
  refresh: ms => lic.refresh(+ms),
  link: async () => JSON.stringify(await lic.link()),
  link_wait: ms => lic.linkWait(+ms),
  devices: async ms => JSON.stringify(await lic.devices(+ms)),
  free_device: (id, ms) => lic.freeDevice(id, +ms),
  request: () => lic.request(),
  install: t => lic.install(t),
  use: (m, n, ms) => lic.use(m, +n, +ms),
  count: (m, n) => lic.count(m, +n),
  verify: (k, f, e) => JSON.stringify(lk.verify(k, f, JSON.parse(e))),
  watch: () => lic.onChange(() => noticed++),
  noticed: () => noticed,
  close: () => lic.close(),
  version: () => lk.version(),
  null: () => { try { return null.x } catch { return 'caught' } },
}

for await (const line of createInterface({input: process.stdin})) {
  const [command, ...args] = line.split('\t')
  try {
    console.log(String(await commands[command](...args) ?? 'ok'))
  } catch (e) {
    console.log(e.code ? `!${e.code} ${e.message}` : String(e))
  }
}
