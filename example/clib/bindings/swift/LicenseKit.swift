// The license of a program: the Swift binding of licensekit.h, which says what each function
// does. For Swift 5.5 or later: swiftc -I FOLDER, with module.modulemap in the folder, and
// licensekit.h in the one above. Only the workflow for macOS compiles it, and nothing runs it.
//
//   let lic = try License(options) // the options of lk_open in JSON
//   if lic.has("export") { … }
import CLicenseKit
import Foundation

/// Why a call had no effect: code is for the program, message one sentence for the user.
public struct LicenseError: LocalizedError {
    public let code, message: String
    public var errorDescription: String? { message }
}

func said(_ why: lk_reason) -> LicenseError {
    var why = why
    let code = withUnsafeBytes(of: &why.code) { String(cString: $0.bindMemory(to: CChar.self).baseAddress!) }
    let message = withUnsafeBytes(of: &why.message) { String(cString: $0.bindMemory(to: CChar.self).baseAddress!) }
    return LicenseError(code: code, message: message)
}

func taken(_ text: UnsafeMutablePointer<CChar>?) -> String? {
    guard let text = text else { return nil }
    defer { lk_free(text) }
    return String(cString: text)
}

/// Safe for threads; it closes itself.
public final class License: @unchecked Sendable {
    private let handle: lk_license

    public convenience init(_ options: String) throws { try self.init { lk_open(options, $0) } }
    public static func fixed(_ status: String) throws -> License { try License { lk_fixed(status, $0) } }
    private init(_ open: (UnsafeMutablePointer<lk_reason>) -> lk_license) throws {
        var why = lk_reason()
        handle = open(&why)
        if handle == 0 { throw said(why) }
    }
    deinit { lk_close(handle) }

    public static var version: String { String(cString: lk_version()) }
    /// Returns the claims of a license file as JSON.
    public static func verify(keys: String, file: String, expect: String) throws -> String {
        var why = lk_reason()
        guard let claims = taken(lk_verify(keys, file, expect, &why)) else { throw said(why) }
        return claims
    }

    /// Whether the license is valid, the code and the message of one moment.
    public func check() -> (valid: Bool, code: String, message: String) {
        var why = lk_reason()
        let valid = lk_valid(handle, &why) != 0
        let s = said(why)
        return (valid, s.code, s.message)
    }
    public var valid: Bool { lk_valid(handle, nil) != 0 }
    public var message: String { check().message } // for the user
    public var validUntil: Date { Date(timeIntervalSince1970: TimeInterval(lk_valid_until(handle))) }
    public var status: String? { taken(lk_status(handle)) } // JSON
    public func has(_ entitlement: String) -> Bool { lk_has(handle, entitlement) != 0 }
    public func number(_ entitlement: String) -> Double? {
        var value = 0.0
        return lk_number(handle, entitlement, &value) != 0 ? value : nil
    }
    public func text(_ entitlement: String) -> String? { taken(lk_text(handle, entitlement)) }

    public func setKey(_ key: String, ms: Int32 = 0) async throws { try await act { lk_set_key($0, key, ms, $1) } }
    public func takeOver(ms: Int32 = 0) async throws { try await act { lk_take_over($0, ms, $1) } }
    public func release(ms: Int32 = 0) async throws { try await act { lk_release($0, ms, $1) } }
    public func refresh(ms: Int32 = 0) async throws { try await act { lk_refresh($0, ms, $1) } }
    public func linkWait(ms: Int32 = 600_000) async throws { try await act { lk_link_wait($0, ms, $1) } }
    public func use(_ meter: String, _ n: Int64 = 1, ms: Int32 = 0) async throws { try await act { lk_use($0, meter, n, ms, $1) } }
    public func install(_ text: String) throws {
        var why = lk_reason()
        if lk_install(handle, text, &why) == 0 { throw said(why) }
    }
    public func link(ms: Int32 = 0) throws -> String { try text { lk_link($0, ms, $1) } } // JSON
    public func devices(ms: Int32 = 0) throws -> String { try text { lk_devices($0, ms, $1) } } // JSON
    public func freeDevice(_ id: String, ms: Int32 = 0) async throws { try await act { lk_free_device($0, id, ms, $1) } }
    public func request() throws -> String { try text { lk_request($0, $1) } }
    @discardableResult public func count(_ meter: String, _ n: Int64 = 1) -> Bool { lk_count(handle, meter, n) != 0 }
    @discardableResult public func close() -> Bool { lk_close(handle) != 0 }

    /// Calls an action on a thread of its own after each change, until close.
    public func onChange(_ call: @escaping @Sendable () -> Void) {
        let handle = self.handle // not self, so that the license can end
        Thread.detachNewThread {
            var seen = lk_wait(handle, 0, 0)
            while seen != 0 {
                seen = lk_wait(handle, seen, -1)
                if seen != 0 { call() }
            }
        }
    }

    private func text(_ f: (lk_license, UnsafeMutablePointer<lk_reason>) -> UnsafeMutablePointer<CChar>?) throws -> String {
        var why = lk_reason()
        guard let text = taken(f(handle, &why)) else { throw said(why) }
        return text
    }
    private func act(_ f: @escaping @Sendable (lk_license, UnsafeMutablePointer<lk_reason>) -> Int32) async throws {
        let handle = self.handle
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, Error>) in
            DispatchQueue.global().async {
                var why = lk_reason()
                if f(handle, &why) == 0 { done.resume(throwing: said(why)) } else { done.resume() }
            }
        }
    }
}
