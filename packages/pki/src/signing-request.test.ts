import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { toPem } from "./certificate.ts";
import { readChildren, readOnly } from "./der-reader.ts";
import { der, derTag } from "./der-writer.ts";
import {
  createCertificateAuthority,
  generateKey,
  parseCertificateSigningRequest,
  rsaBitsMax,
  rsaBitsMin,
  SigningRequestError,
  signCertificateSigningRequest,
  signingRequestBytesMax,
} from "./index.ts";
import { signedSequence } from "./signature.ts";
import { encodeSubject } from "./subject.ts";

const now = Date.parse("2026-11-15T12:00:00Z");

interface RequestParts {
  readonly subject?: Buffer;
  readonly key?: KeyObject;
  /** Signs instead of `key`. */
  readonly signer?: KeyObject;
  readonly version?: number;
}

const someKey = generateKey();
const aliceSubject = encodeSubject({ commonName: "alice", organizations: ["g1", "g2"] });

function requestBytes({
  subject = aliceSubject,
  key = someKey,
  signer = key,
  version = 0,
}: RequestParts): Buffer {
  const spki = createPublicKey(key).export({ type: "spki", format: "der" });
  const info = der.sequence(
    der.unsigned(Buffer.from([version])),
    subject,
    spki,
    der.explicit(0, Buffer.alloc(0)),
  );
  return signedSequence(() => info, signer);
}

function request(parts: RequestParts = {}): string {
  return toPem("CERTIFICATE REQUEST", requestBytes(parts));
}

function name(identifier: string, value: Buffer): Buffer {
  return der.setOfOne(der.sequence(der.objectIdentifier(identifier), value));
}

function rejects(pem: string, message: RegExp): void {
  assert.throws(
    () => parseCertificateSigningRequest(pem),
    (error: unknown) => error instanceof SigningRequestError && message.test(error.message),
  );
}

describe("a certificate signing request", () => {
  it("is parsed and signed with its name and key, for the purposes of the signer", () => {
    const authority = createCertificateAuthority({ commonName: "ca", now });
    const parsed = parseCertificateSigningRequest(request());
    assert.deepEqual(parsed.subject, {
      commonName: "alice",
      organizations: ["g1", "g2"],
      otherAttributes: [],
    });
    const { certificate } = signCertificateSigningRequest({
      authority,
      request: parsed,
      purposes: ["clientAuth"],
      now,
      validityMs: 600_000,
    });
    assert.ok(certificate.verify(authority.certificate.publicKey));
    assert.ok(certificate.checkPrivateKey(someKey));
    assert.equal(certificate.subject, "O=g1\nO=g2\nCN=alice");
    assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
    assert.equal(certificate.ca, false);
    assert.equal(Date.parse(certificate.validTo), now + 600_000);
  });

  it("is accepted with the older PEM label, with Windows line ends and space around", () => {
    const pem = request().replaceAll("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST");
    for (const variant of [pem, `\n${request().replaceAll("\n", "\r\n")}\n `]) {
      assert.equal(parseCertificateSigningRequest(variant).subject.commonName, "alice");
    }
  });

  it("reports other attributes of the subject, and signs without them", () => {
    const subject = der.sequence(
      name("2.5.4.3", der.utf8String("alice")),
      name("1.3.6.1.4.1.57683.2", der.utf8String("somebody-elses-uid")),
    );
    const parsed = parseCertificateSigningRequest(request({ subject }));
    assert.deepEqual(parsed.subject.otherAttributes, ["1.3.6.1.4.1.57683.2"]);
    const authority = createCertificateAuthority({ commonName: "ca", now });
    const signed = signCertificateSigningRequest({
      authority,
      request: parsed,
      purposes: ["clientAuth"],
      now,
    });
    assert.equal(signed.certificate.subject, "CN=alice");
  });

  const subjects: readonly (readonly [string, Buffer, RegExp])[] = [
    [
      "two common names",
      der.sequence(
        name("2.5.4.3", der.utf8String("alice")),
        name("2.5.4.3", der.utf8String("root")),
      ),
      /more than one common name/,
    ],
    [
      "a NUL in the name",
      encodeSubject({ commonName: "root\0.example.com" }),
      /control characters/,
    ],
    [
      "invalid UTF-8",
      der.sequence(name("2.5.4.3", Buffer.from([0x0c, 0x02, 0xc3, 0x28]))),
      /not valid UTF-8/,
    ],
    [
      "a BMP string",
      der.sequence(name("2.5.4.3", Buffer.from([0x1e, 0x02, 0x00, 0x61]))),
      /not a UTF-8, printable or IA5 string/,
    ],
  ];
  for (const [title, subject, message] of subjects) {
    it(`is refused for ${title} in its subject`, () => rejects(request({ subject }), message));
  }

  it("is rejected when another key signed it, or a byte was changed", () => {
    rejects(request({ signer: generateKey() }), /signature .* is wrong/);
    rejects(
      request({ signer: generateKeyPairSync("ed25519").privateKey }),
      /signature .* is wrong/,
    );
    const bytes = requestBytes({});
    bytes.write("m", bytes.indexOf("alice"));
    rejects(toPem("CERTIFICATE REQUEST", bytes), /signature .* is wrong/);
  });

  it("is rejected when its signature is valid but names another algorithm", () => {
    const [info] = readChildren(readOnly(requestBytes({}), derTag.sequence), derTag.sequence);
    assert.ok(info);
    const rsa = der.sequence(der.objectIdentifier("1.2.840.113549.1.1.11"), der.null());
    const signature = der.bitString(sign("sha256", info.bytes, someKey));
    const bytes = der.sequence(info.bytes, rsa, signature);
    rejects(toPem("CERTIFICATE REQUEST", bytes), /signature .* is wrong/);
  });

  it("is rejected when its version is not 1", () => {
    rejects(request({ version: 1 }), /its version is not 1/);
  });

  it("is rejected when it is not PEM, or PEM of another type, or two", () => {
    for (const pem of ["", "x", toPem("CERTIFICATE", requestBytes({})), request() + request()]) {
      rejects(pem, /PEM block type must be CERTIFICATE REQUEST/);
    }
  });

  it("is rejected when it is larger than the limit", () => {
    const padded = request().padEnd(signingRequestBytesMax, "\n");
    assert.equal(parseCertificateSigningRequest(padded).subject.commonName, "alice");
    rejects(`${padded}\n`, /larger than 16384 bytes/);
  });

  it("is rejected for RSA keys that are too weak or too large", () => {
    for (const modulusLength of [rsaBitsMin - 8, rsaBitsMin]) {
      const key = generateKeyPairSync("rsa", { modulusLength }).privateKey;
      if (modulusLength < rsaBitsMin) rejects(request({ key }), /RSA key has 2040 bits/);
      else assert.ok(parseCertificateSigningRequest(request({ key })));
    }
    // A key of this size takes minutes to make, but its public half is only a number. The size is
    // checked before the signature.
    for (const [bits, message] of [
      [rsaBitsMax, /signature|cannot be read/],
      [rsaBitsMax + 8, /RSA key has 8200 bits/],
    ] as const) {
      const n = Buffer.alloc(bits / 8, 0xff).toString("base64url");
      const key = createPublicKey({ key: { kty: "RSA", n, e: "AQAB" }, format: "jwk" });
      const info = der.sequence(
        der.unsigned(Buffer.from([0])),
        aliceSubject,
        key.export({ type: "spki", format: "der" }),
        der.explicit(0, Buffer.alloc(0)),
      );
      const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
      rejects(
        toPem(
          "CERTIFICATE REQUEST",
          signedSequence(() => info, privateKey),
        ),
        message,
      );
    }
  });

  it("is rejected without another error, whichever byte is changed", () => {
    const bytes = requestBytes({});
    for (const mask of [0x01, 0x80, 0xff]) {
      for (const [at, value] of bytes.entries()) {
        const changed = Buffer.from(bytes);
        changed[at] = value ^ mask;
        rejects(toPem("CERTIFICATE REQUEST", changed), /./);
      }
    }
    for (let length = 0; length < bytes.length; length++) {
      rejects(toPem("CERTIFICATE REQUEST", bytes.subarray(0, length)), /./);
    }
  });

  it("of openssl is read, for every kind of key", async (t) => {
    if (spawnSync("openssl", ["version"]).status !== 0) return t.skip("openssl is not on the PATH");
    const directory = await mkdtemp(join(tmpdir(), "signing-request-"));
    t.after(() => rm(directory, { recursive: true }));
    const kinds = [
      ["rsa:2048"],
      ["rsa:2048", "-sha512"],
      ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
      ["ec", "-pkeyopt", "ec_paramgen_curve:P-384", "-sha384"],
      ["ed25519"],
    ];
    const args = "-nodes -keyout k -out r -subj /C=DE/O=g1/O=g2/CN=alice".split(" ");
    for (const kind of kinds) {
      const extension = ["-addext", "subjectAltName=DNS:kubernetes.default"];
      const made = spawnSync(
        "openssl",
        ["req", "-new", "-newkey", ...kind, ...args, ...extension],
        { cwd: directory, encoding: "utf8" },
      );
      assert.equal(made.status, 0, made.stderr);
      const parsed = parseCertificateSigningRequest(await readFile(join(directory, "r"), "utf8"));
      assert.deepEqual(parsed.subject, {
        commonName: "alice",
        organizations: ["g1", "g2"],
        otherAttributes: ["2.5.4.6"],
      });
    }
    const weak = spawnSync("openssl", ["req", "-new", "-newkey", "rsa:2048", "-sha1", ...args], {
      cwd: directory,
    });
    assert.equal(weak.status, 0);
    rejects(await readFile(join(directory, "r"), "utf8"), /algorithm .* is not supported/);
  });
});
