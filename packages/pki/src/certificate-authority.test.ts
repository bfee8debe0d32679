import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import { systemClock } from "@kcp-ts/machinery/base";
import {
  authorityValidityMs,
  type CertificateAuthority,
  clockSkewMs,
  createCertificateAuthority,
  exportKey,
  generateKey,
  issueCertificate,
  leafValidityMs,
  renewCertificateAuthority,
} from "./index.ts";

const now = Date.parse("2026-11-15T12:00:00Z");
const commonName = "test-ca";

function client(authority: CertificateAuthority, key: KeyObject = generateKey()) {
  const subject = { commonName: "alice", organizations: ["system:masters", "a,b", "größe"] };
  return issueCertificate({ authority, subject, purposes: ["clientAuth"], key, now });
}

describe("a certificate authority", () => {
  it("is valid for ten years, from a little before now", () => {
    const { certificate, privateKey } = createCertificateAuthority({ commonName, now });
    assert.equal(certificate.ca, true);
    assert.equal(certificate.subject, "CN=test-ca");
    assert.ok(certificate.checkIssued(certificate));
    assert.ok(certificate.verify(certificate.publicKey));
    assert.ok(certificate.checkPrivateKey(privateKey));
    assert.equal(Date.parse(certificate.validFrom), now - clockSkewMs);
    assert.equal(Date.parse(certificate.validTo), now + authorityValidityMs);
  });

  it("issues client certificates with the user, the groups in order, and one purpose", () => {
    const authority = createCertificateAuthority({ commonName, now });
    const key = generateKey();
    const { certificate } = client(authority, key);
    const { subject } = certificate.toLegacyObject();
    assert.equal(subject.CN, "alice");
    assert.deepEqual(subject.O as unknown, ["system:masters", "a,b", "größe"]);
    assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
    assert.equal(certificate.ca, false);
    assert.ok(certificate.checkIssued(authority.certificate));
    assert.ok(certificate.verify(authority.certificate.publicKey));
    assert.ok(certificate.checkPrivateKey(key));
    assert.equal(Date.parse(certificate.validFrom), now - clockSkewMs);
    assert.equal(Date.parse(certificate.validTo), now + leafValidityMs);
  });

  it("issues serving certificates for names and addresses of both families", () => {
    const { certificate } = issueCertificate({
      authority: createCertificateAuthority({ commonName, now }),
      subject: { commonName: "kcp" },
      purposes: ["serverAuth"],
      hostnames: [
        "localhost",
        "kcp.example.com",
        "*.apps.example.com",
        "10.1.2.3",
        "::1",
        "fd00::1:2",
      ],
      key: generateKey(),
      now,
    });
    for (const host of ["localhost", "KCP.example.com", "x.apps.example.com"]) {
      assert.notEqual(certificate.checkHost(host), undefined, host);
    }
    for (const ip of ["10.1.2.3", "::1", "fd00::1:2", "fd00:0:0:0:0:0:1:2"]) {
      assert.notEqual(certificate.checkIP(ip), undefined, ip);
    }
    assert.equal(certificate.checkHost("other.example.com"), undefined);
    assert.equal(certificate.checkIP("10.1.2.4"), undefined);
    assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
  });

  it("writes addresses as Node's own parser reads them", () => {
    const authority = createCertificateAuthority({ commonName, now });
    const key = generateKey();
    for (const ip of [
      "::",
      "1::",
      "::ffff:10.0.0.1",
      "1:2:3:4:5:6:7:8",
      "64:ff9b::1.2.3.4",
      "A::B",
    ]) {
      const { certificate } = issueCertificate({
        authority,
        subject: { commonName: "kcp" },
        purposes: ["serverAuth"],
        hostnames: [ip],
        key,
        now,
      });
      assert.notEqual(certificate.checkIP(ip), undefined, ip);
    }
  });

  it("rejects names that are no host names", () => {
    const authority = createCertificateAuthority({ commonName, now });
    const names = [
      "",
      "a b",
      "a..b",
      "-a",
      "a/b",
      "fe80::1%eth0",
      "a,DNS:b",
      "ü",
      "x".repeat(64),
      "a.*.b",
    ];
    for (const hostname of names) {
      assert.throws(
        () =>
          issueCertificate({
            authority,
            subject: { commonName: "kcp" },
            purposes: ["serverAuth"],
            hostnames: [hostname],
            key: generateKey(),
            now,
          }),
        RangeError,
        hostname,
      );
    }
  });

  it("gives every certificate a unique serial number", () => {
    const authority = createCertificateAuthority({ commonName, now });
    const key = generateKey();
    const serials = Array.from(
      { length: 50 },
      () => client(authority, key).certificate.serialNumber,
    );
    assert.equal(new Set(serials).size, 50);
    for (const serial of serials) assert.match(serial, /^[4-7][0-9A-F]{31}$/);
  });

  it("issues no certificate that outlives it", () => {
    const validityMs = 1000 * 60 * 60;
    const authority = createCertificateAuthority({ commonName, now, validityMs });
    assert.equal(client(authority).certificate.validTo, authority.certificate.validTo);
  });

  it("is the same authority after a renewal: old certificates stay valid, and clients with the old CA accept new ones", () => {
    const old = createCertificateAuthority({ commonName, now });
    const renewed = renewCertificateAuthority(old, now + authorityValidityMs / 2);
    assert.ok(Date.parse(renewed.certificate.validTo) > Date.parse(old.certificate.validTo));
    for (const [issuer, trusted] of [
      [old, renewed],
      [renewed, old],
    ] as const) {
      const { certificate } = client(issuer);
      assert.ok(certificate.checkIssued(trusted.certificate));
      assert.ok(certificate.verify(trusted.certificate.publicKey));
    }
  });

  for (const [type, key] of [
    ["RSA", generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey],
    ["P-384", generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey],
    ["Ed25519", generateKeyPairSync("ed25519").privateKey],
  ] as const) {
    it(`signs with a key of type ${type}, and certifies one`, () => {
      const authority = createCertificateAuthority({ commonName, now, key });
      const { certificate } = client(authority, key);
      assert.ok(certificate.verify(authority.certificate.publicKey));
      assert.ok(certificate.checkPrivateKey(key));
    });
  }
});

describe("issued certificates", () => {
  it("are valid for openssl, by its strict rules and for their purpose only", async (t) => {
    if (!hasOpenssl(t)) return;
    const directory = await mkdtemp(join(tmpdir(), "certificates-"));
    t.after(() => rm(directory, { recursive: true }));
    const authority = createCertificateAuthority({ commonName, now: systemClock.now() });
    const leaf = (purpose: "serverAuth" | "clientAuth") =>
      issueCertificate({
        authority,
        subject: { commonName: "alice", organizations: ["g1", "g2"] },
        purposes: [purpose],
        hostnames: ["localhost", "127.0.0.1", "::1"],
        key: generateKey(),
        now: systemClock.now(),
      }).certificatePem;
    const files = {
      ca: authority.certificatePem,
      sslserver: leaf("serverAuth"),
      sslclient: leaf("clientAuth"),
    };
    for (const [name, pem] of Object.entries(files)) await writeFile(join(directory, name), pem);
    const verify = (purpose: string, file: string) =>
      spawnSync("openssl", ["verify", "-x509_strict", "-purpose", purpose, "-CAfile", "ca", file], {
        cwd: directory,
        encoding: "utf8",
      });
    for (const [purpose, other] of [
      ["sslserver", "sslclient"],
      ["sslclient", "sslserver"],
    ] as const) {
      const good = verify(purpose, purpose);
      assert.equal(good.status, 0, good.stderr);
      assert.notEqual(verify(purpose, other).status, 0);
    }
    const shown = spawnSync("openssl", ["x509", "-in", "sslclient", "-noout", "-text"], {
      cwd: directory,
      encoding: "utf8",
    }).stdout;
    assert.match(shown, /Subject: O = g1, O = g2, CN = alice/);
    assert.match(shown, /X509v3 Authority Key Identifier/);
    assert.match(shown, /X509v3 Subject Key Identifier/);
  });

  it("work for mutual TLS", async () => {
    const at = systemClock.now();
    const authority = createCertificateAuthority({ commonName, now: at });
    const [serverKey, clientKey] = [generateKey(), generateKey()];
    const serving = issueCertificate({
      authority,
      subject: { commonName: "kcp" },
      purposes: ["serverAuth"],
      hostnames: ["localhost"],
      key: serverKey,
      now: at,
    });
    const own = issueCertificate({
      authority,
      subject: { commonName: "alice", organizations: ["g1"] },
      purposes: ["clientAuth"],
      key: clientKey,
      now: at,
    });
    const server = createServer({
      cert: serving.certificatePem,
      key: exportKey(serverKey),
      ca: authority.certificatePem,
      requestCert: true,
      rejectUnauthorized: true,
    });
    const accepted = new Promise<TLSSocket>((resolve, reject) => {
      server.on("secureConnection", resolve).on("tlsClientError", reject);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    const socket = connect({
      port: address.port,
      host: "127.0.0.1",
      servername: "localhost",
      ca: authority.certificatePem,
      cert: own.certificatePem,
      key: exportKey(clientKey),
    });
    try {
      await new Promise<void>((resolve, reject) => {
        socket.on("secureConnect", () => resolve()).on("error", reject);
      });
      const peer = (await accepted).getPeerX509Certificate();
      assert.ok(peer?.raw.equals(new X509Certificate(own.certificatePem).raw));
      assert.equal((await accepted).authorized, true);
      assert.equal(socket.authorized, true);
    } finally {
      socket.destroy();
      (await accepted).destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

function hasOpenssl(t: TestContext): boolean {
  const found = spawnSync("openssl", ["version"]).status === 0;
  if (!found) t.skip("openssl is not on the PATH");
  return found;
}
