package program

import "syscall"

// thisMachine is the machine that the program runs on.
func thisMachine() machine {
	nothing := func() string { return "" }
	return machine{readFile: func(string) string { return "" }, registry: machineGUID, ioreg: nothing}
}

// machineGUID reads a value of the registry's 64-bit view.
func machineGUID() string {
	const wow64 = 0x100 // KEY_WOW64_64KEY
	path, err := syscall.UTF16PtrFromString(`SOFTWARE\Microsoft\Cryptography`)
	if err != nil {
		return ""
	}
	name, err := syscall.UTF16PtrFromString("MachineGuid")
	if err != nil {
		return ""
	}
	var key syscall.Handle
	if syscall.RegOpenKeyEx(syscall.HKEY_LOCAL_MACHINE, path, 0, syscall.KEY_QUERY_VALUE|wow64, &key) != nil {
		return ""
	}
	defer syscall.RegCloseKey(key)
	var value [128]byte
	var kind uint32
	size := uint32(len(value))
	if syscall.RegQueryValueEx(key, name, nil, &kind, &value[0], &size) != nil || kind != syscall.REG_SZ {
		return ""
	}
	return string(value[:size])
}
