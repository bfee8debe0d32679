import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createSecureContext } from "node:tls";
import { encodeCertificate, keyIdentifier } from "./certificate.ts";
import {
  authorityRenewalMs,
  authorityValidityMs,
  type CertificateFileErrorCode,
  createCertificateAuthority,
  ensureServingCertificates,
  exportKey,
  generateKey,
  isCertificateFileError,
  issueCertificate,
  leafValidityMs,
  loadKeyPair,
  renewalIntervalMinMs,
  servingRenewalMs,
} from "./index.ts";
import { encodeSubject } from "./subject.ts";

const start = Date.parse("2026-11-15T12:00:00Z");
const fileNames = ["apiserver.crt", "apiserver.key", "ca.crt", "ca.key"];

/** A root directory that does not exist yet, and a clock to turn. */
async function setup(t: TestContext) {
  const parent = await mkdtemp(join(tmpdir(), "serving-"));
  t.after(() => rm(parent, { recursive: true }));
  const directory = join(parent, "deep", ".kcp");
  const clock = { time: start, now: () => clock.time };
  const ensure = (hostnames: readonly string[] = ["localhost", "127.0.0.1"]) =>
    ensureServingCertificates({ directory, hostnames, clock });
  const file = (name: string) => join(directory, name);
  const read = (name: string) => readFile(file(name), "utf8");
  const readAll = async () => Promise.all(fileNames.map(read));
  return { directory, clock, ensure, file, read, readAll };
}

function fails(code: CertificateFileErrorCode, path: string) {
  return (error: unknown) =>
    isCertificateFileError(error, code) && error.path === path && error.message.includes(path);
}

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

describe("serving certificates", () => {
  it("are created at the first start, with files that only the owner may read", async (t) => {
    const { directory, ensure, file, read } = await setup(t);
    const made = await ensure();
    assert.deepEqual(made.issued, ["authority", "serving"]);
    assert.deepEqual((await readdir(directory)).sort(), fileNames);
    assert.equal(await modeOf(directory), 0o700);
    for (const name of fileNames) assert.equal(await modeOf(file(name)), 0o600, name);
    assert.equal(made.caPem, await read("ca.crt"));
    assert.equal(made.certificatePem, await read("apiserver.crt"));
    assert.equal(made.privateKeyPem, await read("apiserver.key"));
    assert.ok(createSecureContext({ cert: made.certificatePem, key: made.privateKeyPem }));
    const certificate = new X509Certificate(made.certificatePem);
    assert.ok(certificate.verify(new X509Certificate(made.caPem).publicKey));
    assert.notEqual(certificate.checkHost("localhost"), undefined);
  });

  it("are reused at the next start", async (t) => {
    const { ensure, readAll } = await setup(t);
    const made = await ensure();
    const files = await readAll();
    const again = await ensure();
    assert.deepEqual(again.issued, []);
    assert.equal(again.certificatePem, made.certificatePem);
    assert.equal(again.nextRenewalAt, made.nextRenewalAt);
    assert.deepEqual(await readAll(), files);
  });

  it("are the same for the same names in another order or case", async (t) => {
    const { ensure } = await setup(t);
    await ensure(["localhost", "127.0.0.1", "Example.com"]);
    const again = await ensure(["example.com", "127.0.0.1", "localhost", "localhost"]);
    assert.deepEqual(again.issued, []);
  });

  for (const [title, hostnames] of [
    ["is added", ["localhost", "127.0.0.1", "example.com"]],
    ["is taken away", ["localhost"]],
    ["is replaced", ["localhost", "127.0.0.2"]],
  ] as const) {
    it(`are issued again, for the same key and authority, when a name ${title}`, async (t) => {
      const { ensure } = await setup(t);
      const made = await ensure();
      const again = await ensure(hostnames);
      assert.deepEqual(again.issued, ["serving"]);
      assert.equal(again.caPem, made.caPem);
      assert.equal(again.privateKeyPem, made.privateKeyPem);
      assert.notEqual(again.certificatePem, made.certificatePem);
    });
  }

  it("are renewed from 30 days before their expiry on, and report when that is", async (t) => {
    const { clock, ensure } = await setup(t);
    const made = await ensure();
    assert.equal(made.nextRenewalAt, start + leafValidityMs - servingRenewalMs);
    clock.time = made.nextRenewalAt - 1;
    assert.deepEqual((await ensure()).issued, []);
    clock.time = made.nextRenewalAt;
    const renewed = await ensure();
    assert.deepEqual(renewed.issued, ["serving"]);
    assert.equal(renewed.privateKeyPem, made.privateKeyPem);
    assert.equal(renewed.nextRenewalAt, clock.time + leafValidityMs - servingRenewalMs);
    assert.deepEqual((await ensure()).issued, []);
  });

  it("stay valid for twenty years of renewals on time, with one authority key", async (t) => {
    const { clock, ensure } = await setup(t);
    let current = await ensure();
    const { publicKey } = current.authority.certificate;
    let authorities = 0;
    while (clock.time < start + 2 * authorityValidityMs) {
      assert.ok(current.nextRenewalAt > clock.time, "the next renewal is in the future");
      clock.time = current.nextRenewalAt;
      const leaf = new X509Certificate(current.certificatePem);
      const ca = current.authority.certificate;
      for (const certificate of [leaf, ca]) assert.ok(Date.parse(certificate.validTo) > clock.time);
      current = await ensure();
      const renewed = new X509Certificate(current.certificatePem);
      assert.ok(renewed.verify(publicKey));
      assert.ok(renewed.checkIssued(ca), "clients that trust the last authority accept it");
      if (current.issued.includes("authority")) authorities++;
    }
    assert.equal(authorities, 2);
  });

  it("are renewed when the clock was set back to before their validity, and after a long downtime", async (t) => {
    const { clock, ensure } = await setup(t);
    await ensure();
    clock.time = start + 2 * authorityValidityMs;
    assert.deepEqual((await ensure()).issued, ["authority", "serving"]);
    clock.time = start;
    assert.deepEqual((await ensure()).issued, ["authority", "serving"]);
  });

  it("are issued again when they are of another authority", async (t) => {
    const { ensure, file } = await setup(t);
    const made = await ensure();
    const other = createCertificateAuthority({ commonName: "kcp-ca", now: start });
    await writeFile(file("ca.crt"), other.certificatePem);
    await writeFile(file("ca.key"), exportKey(other.privateKey));
    const again = await ensure();
    assert.deepEqual(again.issued, ["serving"]);
    assert.equal(again.caPem, other.certificatePem);
    assert.equal(again.privateKeyPem, made.privateKeyPem);
  });

  it("use an authority that another one signed until its expiry, and then fail", async (t) => {
    const { clock, directory, ensure, file } = await setup(t);
    const key = generateKey();
    const rootKey = generateKey();
    const crossed = encodeCertificate({
      subject: encodeSubject({ commonName: "middle" }),
      issuer: encodeSubject({ commonName: "root" }),
      publicKey: key,
      signingKey: rootKey,
      authorityKeyId: keyIdentifier(rootKey),
      notBefore: start,
      notAfter: start + authorityValidityMs,
      profile: { authority: true },
    });
    await mkdir(directory, { recursive: true });
    await writeFile(file("ca.crt"), crossed);
    await writeFile(file("ca.key"), exportKey(key));
    assert.deepEqual((await ensure()).issued, ["serving"]);
    clock.time = start + authorityValidityMs - authorityRenewalMs + 1;
    const late = await ensure();
    assert.deepEqual(late.issued, ["serving"]);
    assert.equal(late.nextRenewalAt, clock.time + renewalIntervalMinMs, "not at once again");
    clock.time = start + authorityValidityMs;
    await assert.rejects(ensure(), fails("expired", file("ca.crt")));
  });

  for (const name of ["ca", "apiserver"]) {
    it(`are completed when only ${name}.key was written before a crash`, async (t) => {
      const { ensure, file, read } = await setup(t);
      await ensure();
      const key = await read(`${name}.key`);
      await rm(file(`${name}.crt`));
      assert.ok((await ensure()).issued.length > 0);
      assert.equal(await read(`${name}.key`), key);
      assert.deepEqual((await ensure()).issued, []);
    });

    it(`are refused when ${name}.key is missing, and made anew when its certificate is removed too`, async (t) => {
      const { ensure, file } = await setup(t);
      await ensure();
      await rm(file(`${name}.key`));
      await assert.rejects(ensure(), fails("missing", file(`${name}.key`)));
      await rm(file(`${name}.crt`));
      assert.ok((await ensure()).issued.includes("serving"));
    });

    it(`are refused when ${name}.crt and ${name}.key do not belong together`, async (t) => {
      const { ensure, file, readAll } = await setup(t);
      await ensure();
      await writeFile(file(`${name}.key`), exportKey(generateKey()));
      const files = await readAll();
      await assert.rejects(ensure(), fails("mismatched", file(`${name}.crt`)));
      assert.deepEqual(await readAll(), files, "nothing was changed");
    });

    for (const ending of ["crt", "key"]) {
      it(`are refused when ${name}.${ending} is damaged, empty or no file`, async (t) => {
        const { ensure, file, read } = await setup(t);
        await ensure();
        const path = file(`${name}.${ending}`);
        const good = await read(`${name}.${ending}`);
        for (const content of ["", "x", good.slice(0, 100), good.replace("M", "!")]) {
          await writeFile(path, content);
          await assert.rejects(ensure(), fails("corrupt", path), JSON.stringify(content));
          assert.equal(await readFile(path, "utf8"), content, "the evidence is left alone");
        }
        await rm(path);
        await mkdir(path);
        await assert.rejects(ensure(), fails("unreadable", path));
      });
    }
  }

  it("are rejected when ca.crt is no CA certificate", async (t) => {
    const { ensure, file } = await setup(t);
    const { authority } = await ensure();
    const key = generateKey();
    const subject = { commonName: "x" };
    const leaf = issueCertificate({
      authority,
      subject,
      purposes: ["serverAuth"],
      key,
      now: start,
    });
    await writeFile(file("ca.crt"), leaf.certificatePem);
    await writeFile(file("ca.key"), exportKey(key));
    await assert.rejects(ensure(), fails("corrupt", file("ca.crt")));
  });

  it("restrict the mode of their key files again after it was widened", async (t) => {
    const { ensure, file } = await setup(t);
    await ensure();
    await chmod(file("ca.key"), 0o644);
    await ensure();
    assert.equal(await modeOf(file("ca.key")), 0o600);
  });
});

describe("a key pair of the operator", () => {
  it("is loaded, chain included, when certificate and key match", async (t) => {
    const { ensure, file, read } = await setup(t);
    await ensure();
    const chain = (await read("apiserver.crt")) + (await read("ca.crt"));
    await writeFile(file("chain.crt"), chain);
    const paths = { certificateFile: file("chain.crt"), privateKeyFile: file("apiserver.key") };
    const pair = await loadKeyPair(paths);
    assert.equal(pair.certificatePem, chain);
    assert.equal(pair.privateKeyPem, await read("apiserver.key"));
    assert.match(pair.certificate.subject, /CN=kcp$/);
  });

  it("is rejected when certificate and key do not match or one is missing", async (t) => {
    const { ensure, file } = await setup(t);
    await ensure();
    const load = (certificateFile: string, privateKeyFile: string) =>
      loadKeyPair({ certificateFile: file(certificateFile), privateKeyFile: file(privateKeyFile) });
    await assert.rejects(
      load("apiserver.crt", "ca.key"),
      fails("mismatched", file("apiserver.crt")),
    );
    await assert.rejects(load("none.crt", "ca.key"), fails("missing", file("none.crt")));
    await assert.rejects(load("ca.crt", "none.key"), fails("missing", file("none.key")));
  });
});
