// What a user expects of a program's first window, in a terminal: whether it is licensed, how it
// is activated, and on which devices.
//
//   node menu.mjs options.json
//
// options.json has the options of lk_open; a real program has them in itself.
import {readFileSync} from 'node:fs'
import {createInterface} from 'node:readline'
import {License} from './licensekit.mjs'

const lines = createInterface({input: process.stdin})[Symbol.asyncIterator]()

async function ask(prompt) {
  process.stdout.write(prompt + ' ')
  return ((await lines.next()).value ?? '').trim()
}

async function inTheBrowser(lic) {
  const {url, code} = await lic.link()
  console.log(`Open ${url} and compare the code: ${code}. Waiting for the approval ...`)
  await lic.linkWait()
}

async function withAKey(lic) { await lic.setKey(await ask('License key:')) }

async function withAFile(lic) {
  console.log('Send this to the vendor:', lic.request())
  lic.install(readFileSync(await ask('File that the vendor sent:'), 'utf8'))
}

async function devices(lic) {
  const found = await lic.devices()
  found.forEach((d, i) => console.log(i + 1, d.name, d.this ? '(this device)' : 'last seen ' + d.last_seen_at.slice(0, 10)))
  const device = found[await ask('Free the seat of number (Enter: none):') - 1]
  if (!device) return
  await lic.freeDevice(device.id)
  if (!device.this) await lic.refresh() // takes the seat
}

const actions = {1: inTheBrowser, 2: withAKey, 3: withAFile, 4: lic => lic.refresh(), 5: devices}
const menu = `
1 Activate in the browser
2 Enter a license key
3 Install a license file
4 Check again
5 Devices
0 Quit`

const lic = await License.open(JSON.parse(readFileSync(process.argv[2], 'utf8')))
for (;;) {
  const {valid, message} = lic.check()
  console.log((valid ? '\nLicensed. ' : '\nNot licensed. ') + message + menu)
  const choice = await ask('Choose:')
  if (choice === '0' || choice === '') break
  try {
    await actions[choice]?.(lic)
  } catch (e) {
    console.log('That had no effect:', e.message)
  }
}
await lic.close()
process.exit()
