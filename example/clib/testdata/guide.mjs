import {License} from './licensekit.mjs'

const show = message => console.log('show', message), offerExport = () => console.log('export')
const options = JSON.parse(process.argv[2])
try {
  // guide
  const lic = await License.open(options) // rejects with a LicenseError if an option is wrong
  const {valid, message} = lic.check()
  if (!valid) show(message)
  if (lic.has('export')) offerExport()
  // guide
  await lic.close()
} catch (e) {
  console.log('fail', e.message)
}
