/**
 * Goal: a client certificate authenticates its user as long as its CA is in the file, without a
 * restart.
 */
import assert from "node:assert/strict";
import type { X509Certificate } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import {
  type CertificateAuthority,
  createCertificateAuthority,
  generateKey,
  type IssueOptions,
  issueCertificate,
} from "@kcp-ts/pki";
import { ControlPlaneCore } from "./core.ts";

const now = systemClock.now();
const hourMs = 3_600_000;
const [first, second, stranger] = ["first", "second", "stranger"].map((commonName) =>
  createCertificateAuthority({ commonName, now }),
) as [CertificateAuthority, CertificateAuthority, CertificateAuthority];

function issue(authority: CertificateAuthority, more: Partial<IssueOptions> = {}): X509Certificate {
  return issueCertificate({
    authority,
    subject: { commonName: "alice" },
    purposes: ["clientAuth"],
    key: generateKey(),
    now,
    ...more,
  }).certificate;
}

describe("client certificates", () => {
  let folder: string;
  let caFile: string;
  let core: ControlPlaneCore;
  const storage = new MemoryStorage();
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "client-ca-"));
    caFile = join(folder, "ca.crt");
    await writeFile(caFile, first.certificatePem);
    const quiet = () => {};
    core = await ControlPlaneCore.compose({
      clientCaFile: caFile,
      storage,
      tokens: undefined,
      anonymousAuth: true,
      extensions: {},
      clock: systemClock,
      random: systemRandom,
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet, isDebugEnabled: false },
    });
    await core.start();
  });
  after(async () => {
    await core.stopControllers();
    await core.server.close();
    await storage.close();
    await rm(folder, { recursive: true });
  });

  /** 403 is an authenticated user without permission, 401 an unauthenticated one. */
  const statusOf = async (certificate: X509Certificate | undefined) => {
    const { status } = await core.handle({
      method: "GET",
      target: "/api/v1/namespaces/default/secrets",
      headers: {},
      remoteAddress: "",
      clientCertificate: certificate,
      onClose: () => {},
      readBody: async () => new Uint8Array(),
    });
    return status;
  };

  it("are rejected for a wrong CA, a wrong time, a wrong usage", async () => {
    assert.equal(await statusOf(issue(first)), 403);
    const cases: readonly (readonly [string, X509Certificate])[] = [
      ["another authority", issue(stranger)],
      ["over", issue(first, { now: now - 2 * hourMs, validityMs: hourMs })],
      ["not valid yet", issue(first, { now: now + hourMs })],
      ["for servers", issue(first, { purposes: ["serverAuth"] })],
      [
        "of two clusters",
        issue(first, {
          subject: { commonName: "x", organizationalUnits: ["kcp:cluster:a", "kcp:cluster:b"] },
        }),
      ],
    ];
    for (const [title, certificate] of cases) {
      assert.equal(await statusOf(certificate), 401, title);
    }
  });

  it("follow the CA file, several CAs included, and the last valid one when the file is invalid", async () => {
    const [old, young] = [issue(first), issue(second)];
    assert.deepEqual([await statusOf(old), await statusOf(young)], [403, 401]);
    await writeFile(caFile, `${first.certificatePem}\n${second.certificatePem}`);
    await core.files.check();
    assert.deepEqual([await statusOf(old), await statusOf(young)], [403, 403]);
    await writeFile(caFile, "-----BEGIN CERTIFICATE-----\n");
    await core.files.check();
    assert.deepEqual([await statusOf(old), await statusOf(young)], [403, 403]);
    await writeFile(caFile, second.certificatePem);
    await core.files.check();
    assert.deepEqual([await statusOf(old), await statusOf(young)], [401, 403]);
  });
});
