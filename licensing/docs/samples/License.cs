// A program with a license: it activates with its key, keeps a license file, and
// starts from the file without a network. For .NET 8 or later, without packages. .NET
// has no Ed25519, so this needs files that are signed with ES256, by an office too. No test of this
// repository runs it. It was compiled, and CheckFile was run by hand on published files, without
// ECDsa, which that runtime did not have: ECDsa and Activate have never been run.
//
//   LICENSE_SERVER=https://example.com/licensing LICENSE_KEY=… dotnet run keys.json license.jws MACHINE
using System.Net.Http.Json;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

const string Product = "atlas";
const long Leeway = 300; // seconds that the clock of this machine may be behind

static byte[] Bytes(string part) =>
    Convert.FromBase64String(part.Replace('-', '+').Replace('_', '/').PadRight((part.Length + 3) / 4 * 4, '='));

// Head returns a member of the header of a license file; null: it has none.
static string? Head(string file, string name) =>
    JsonDocument.Parse(Bytes(file.Split('.')[0])).RootElement.TryGetProperty(name, out var v) ? v.GetString() : null;

// Key returns the key that signed a license file; its ValueKind is Undefined if it is none of these.
static JsonElement Key(IEnumerable<JsonElement> keys, string file) =>
    keys.FirstOrDefault(k => k.GetProperty("kid").GetString() == Head(file, "kid"));

// Verify returns the claims of a license file that one of the keys has signed, and throws
// otherwise.
static JsonElement Verify(IEnumerable<JsonElement> keys, string text)
{
    var parts = text.Split('.');
    if (parts.Length != 3) throw new InvalidDataException("not a license file");
    if (Head(text, "typ") != "license-file+jwt" || Head(text, "alg") != "ES256") throw new InvalidDataException("not a license file with ES256");
    var head = JsonDocument.Parse(Bytes(parts[0])).RootElement;
    foreach (var name in new[] { "crit", "zip", "b64" })
        if (head.TryGetProperty(name, out _)) throw new InvalidDataException("an unknown extension");
    var key = Key(keys, text);
    if (key.ValueKind != JsonValueKind.Object || key.GetProperty("alg").GetString() != "ES256") throw new InvalidDataException("signed with an unknown key");
    using var ec = ECDsa.Create(new ECParameters
    {
        Curve = ECCurve.NamedCurves.nistP256,
        Q = new ECPoint { X = Bytes(key.GetProperty("x").GetString()!), Y = Bytes(key.GetProperty("y").GetString()!) },
    });
    var signed = Encoding.ASCII.GetBytes(parts[0] + "." + parts[1]);
    if (!ec.VerifyData(signed, Bytes(parts[2]), HashAlgorithmName.SHA256)) throw new InvalidDataException("the signature is wrong");
    return JsonDocument.Parse(Bytes(parts[1])).RootElement;
}

// VerifyLent returns the claims of a license file that an office signed, whose own file is
// in the header. That one has the terms; the file says for which machine and how long.
static JsonElement VerifyLent(IEnumerable<JsonElement> keys, string officeFile, string text)
{
    var terms = Verify(keys, officeFile).EnumerateObject().ToDictionary(p => p.Name, p => p.Value);
    if (!terms.Remove("office", out var office)) throw new InvalidDataException("the file in the header is not that of an office");
    var file = Verify(new[] { office.GetProperty("jwk") }, text);
    bool Has(string name) => file.TryGetProperty(name, out var v) && !string.IsNullOrEmpty(v.GetString());
    if (file.GetProperty("sub").GetString() != terms["sub"].GetString() || file.GetProperty("aud").GetString() != terms["aud"].GetString() ||
        file.GetProperty("exp").GetInt64() > terms["exp"].GetInt64() ||
        !Has("activation_id") || !Has("fingerprint_hash") || file.TryGetProperty("office", out _)) throw new InvalidDataException("not what the office may lend");
    foreach (var name in new[] { "jti", "exp", "activation_id", "fingerprint_hash", "recheck", "nonce" })
    {
        terms.Remove(name);
        if (file.TryGetProperty(name, out var own)) terms[name] = own;
    }
    foreach (var name in new[] { "iat", "nbf" })
        if (file.GetProperty(name).GetInt64() > terms[name].GetInt64()) terms[name] = file.GetProperty(name);
    return JsonSerializer.SerializeToElement(terms);
}

// CheckFile returns the claims of a license file that is valid on this machine at now
// (seconds), and throws otherwise. jwks is the answer of GET /file/keys, embedded.
static JsonElement CheckFile(JsonElement jwks, string text, string machine, long now)
{
    text = text.Trim();
    var keys = jwks.GetProperty("keys").EnumerateArray().ToArray();
    var office = Key(keys, text).ValueKind == JsonValueKind.Undefined ? Head(text, "office") : null;
    var claims = office is null ? Verify(keys, text) : VerifyLent(keys, office, text);
    if (claims.TryGetProperty("office", out _)) throw new InvalidDataException("for an office, which lends the license to programs");
    var license = claims.GetProperty("sub").GetString();
    if (claims.GetProperty("aud").GetString() != Product) throw new InvalidDataException("for another product");
    if (now + Leeway < Math.Max(claims.GetProperty("iat").GetInt64(), claims.GetProperty("nbf").GetInt64())) throw new InvalidDataException("not valid yet; is the clock right?");
    if (now >= claims.GetProperty("exp").GetInt64()) throw new InvalidDataException("the license file has expired");
    if (claims.TryGetProperty("fingerprint_hash", out var want))
    {
        var hash = SHA256.HashData(Encoding.UTF8.GetBytes($"licensekit-fp\0{license}\0{machine}"));
        if (!CryptographicOperations.FixedTimeEquals(hash, Bytes(want.GetString()!))) throw new InvalidDataException("for another machine");
    }
    return claims;
}

// Activate returns a new license file for this machine. It throws InvalidOperationException
// if the service refuses, and HttpRequestException if it cannot be reached.
static async Task<string> Activate(string server, string key, string machine)
{
    using var http = new HttpClient { Timeout = TimeSpan.FromSeconds(10) };
    var res = await http.PostAsJsonAsync(server + "/license/activate", new { key, fingerprint = machine, product_id = Product, file = "P14D" });
    if ((int)res.StatusCode is >= 500 or 429) res.EnsureSuccessStatusCode();
    var answer = await res.Content.ReadFromJsonAsync<JsonElement>();
    if (res.IsSuccessStatusCode && answer.TryGetProperty("file", out var file)) return file.GetString()!;
    if (answer.TryGetProperty("verdict", out var verdict)) answer = verdict.GetProperty("reasons")[0];
    else if (answer.TryGetProperty("file_reason", out var reason)) answer = reason;
    throw new InvalidOperationException(answer.GetProperty("detail").GetString());
}

static long Now() => DateTimeOffset.UtcNow.ToUnixTimeSeconds();

var (path, machine) = (args[1], args[2]);
var jwks = JsonDocument.Parse(File.ReadAllText(args[0])).RootElement; // a real program embeds it
JsonElement? claims = null;
// What mail programs and editors add does not count: line breaks, the = of quoted-printable.
static string Pasted(string text) => string.Concat(text.Where(c => char.IsAsciiLetterOrDigit(c) || c is '-' or '_' or '.'));
try { claims = CheckFile(jwks, Pasted(File.ReadAllText(path)), machine, Now()); }
catch (Exception) { } // none, or not valid: get one, or say why there is none
if (claims is null || Now() >= claims.Value.GetProperty("iat").GetInt64() + (claims.Value.TryGetProperty("recheck", out var s) ? s.GetInt64() : 3600))
{
    try
    {
        var text = await Activate(Environment.GetEnvironmentVariable("LICENSE_SERVER")!, Environment.GetEnvironmentVariable("LICENSE_KEY")!, machine);
        claims = CheckFile(jwks, text, machine, Now()); // before it replaces the stored one
        File.WriteAllText(path + ".new", text);
        File.Move(path + ".new", path, overwrite: true);
    }
    catch (Exception e) when (claims is not null && e is not InvalidOperationException) { } // the stored file is enough
}
Console.WriteLine($"licensed to {claims!.Value.GetProperty("name").GetString()}");
