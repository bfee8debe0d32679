import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createLog } from "@kcp-ts/apiserver";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { pollIntervalMs } from "@kcp-ts/pki";
import { ControlPlaneCore } from "./core.ts";

describe("the token file", () => {
  let folder = "";
  let core: ControlPlaneCore;
  const storage = new MemoryStorage();
  const written: string[] = [];
  const path = () => join(folder, "tokens.csv");
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "tokens-"));
    await writeFile(path(), "one,alice,1\ntwo,bob,2\n");
    core = await ControlPlaneCore.compose({
      storage,
      tokens: undefined,
      tokenAuthFile: path(),
      anonymousAuth: false,
      extensions: {},
      clock: systemClock,
      random: systemRandom,
      log: createLog({ format: "json", verbosity: 2, write: (line) => written.push(line) }),
    });
    await core.start();
  });
  after(async () => {
    await core.stopControllers();
    await core.server.close();
    await storage.close();
    await rm(folder, { recursive: true });
  });

  const statusFor = async (token: string) => {
    const { status } = await core.handle({
      method: "GET",
      target: "/version",
      headers: { authorization: `Bearer ${token}` },
      remoteAddress: "",
      clientCertificate: undefined,
      onClose: () => {},
      readBody: async () => new Uint8Array(),
    });
    return status;
  };

  it("is checked every few seconds", () => {
    assert.ok(pollIntervalMs <= 5000);
  });

  it("rejects a token whose line was removed, and accepts a token whose line was added", async () => {
    assert.deepEqual([await statusFor("one"), await statusFor("two")], [200, 200]);
    await writeFile(path(), "two,bob,2\nthree,carol,3\nfour,dave,4\n");
    await core.files.check();
    assert.deepEqual(
      [await statusFor("one"), await statusFor("two"), await statusFor("three")],
      [401, 200, 200],
    );
  });

  it("stays in use when the new one is invalid, and the log reports it without a token", async () => {
    await writeFile(path(), "three-secret\n");
    await core.files.check();
    assert.equal(await statusFor("three"), 200);
    assert.ok(written.some((line) => line.includes("changed files cannot be used")));
    assert.ok(!written.some((line) => line.includes("three-secret")));
  });
});
