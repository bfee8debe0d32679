import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createSecureServer } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { connect } from "node:tls";
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import {
  checkIntervalMs,
  ensureServingCertificates,
  isCertificateFileError,
  renewServingCertificates,
  type ServingCertificates,
} from "./index.ts";

/**
 * One timer at a time, fired by the test. `fire` returns when the next one is set: the check is
 * then over.
 */
function manualClock(start: number) {
  let pending: { readonly at: number; readonly callback: () => void } | undefined;
  let onScheduled: () => void = () => {};
  const clock = {
    time: start,
    now: () => clock.time,
    monotonic: () => clock.time,
    schedule(delayMs: number, callback: () => void) {
      const timer = { at: clock.time + delayMs, callback };
      pending = timer;
      onScheduled();
      return {
        cancel() {
          if (pending === timer) pending = undefined;
        },
      };
    },
    get pendingAt() {
      return pending?.at;
    },
    async fire() {
      const timer = pending;
      assert.ok(timer, "a timer is set");
      pending = undefined;
      clock.time = Math.max(clock.time, timer.at);
      await new Promise<void>((resolve) => {
        onScheduled = resolve;
        timer.callback();
      });
      // The callbacks of the look run in the same turn as its scheduling.
      await Promise.resolve();
    },
  };
  return clock satisfies Clock;
}

async function setup(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), "keeper-"));
  t.after(() => rm(directory, { recursive: true }));
  const clock = manualClock(systemClock.now());
  const where = { directory, hostnames: ["localhost"], clock };
  const current = await ensureServingCertificates(where);
  const changes: ServingCertificates[] = [];
  const errors: unknown[] = [];
  const keeper = renewServingCertificates({
    ...where,
    current,
    onChange: (certificates) => changes.push(certificates),
    onError: (error) => errors.push(error),
  });
  return { directory, clock, current, changes, errors, keeper };
}

describe("the renewer of the serving certificates", () => {
  it("checks every interval, and renews in the hour it is due", async (t) => {
    const { clock, current, changes, errors } = await setup(t);
    await clock.fire();
    assert.equal(changes.length, 0);
    clock.time = current.nextRenewalAt - checkIntervalMs - 1;
    await clock.fire();
    assert.equal(changes.length, 0);
    assert.equal(clock.pendingAt, current.nextRenewalAt - 1);
    await clock.fire();
    assert.equal(clock.pendingAt, current.nextRenewalAt, "the last step is as short as needed");
    await clock.fire();
    assert.equal(changes.length, 1);
    assert.notEqual(changes[0]?.certificatePem, current.certificatePem);
    assert.deepEqual(errors, []);
  });

  it("reports a failure, keeps going, and recovers", async (t) => {
    const { directory, clock, changes, errors } = await setup(t);
    const path = join(directory, "apiserver.crt");
    const good = await readFile(path, "utf8");
    await writeFile(path, "damaged");
    await clock.fire();
    assert.equal(errors.length, 1);
    assert.ok(isCertificateFileError(errors[0], "corrupt"));
    assert.equal(clock.pendingAt, clock.time + checkIntervalMs);
    await writeFile(path, good);
    await clock.fire();
    assert.equal(errors.length, 1);
    assert.equal(changes.length, 0, "the same certificate is no change");
  });

  it("sets no timer once it is stopped", async (t) => {
    const { clock, keeper } = await setup(t);
    assert.notEqual(clock.pendingAt, undefined);
    keeper.stop();
    assert.equal(clock.pendingAt, undefined);
  });

  it("gives a running HTTP/2 listener the new certificate", async (t) => {
    const { directory, clock, current, keeper } = await setup(t);
    keeper.stop();
    const server = createSecureServer({ cert: current.certificatePem, key: current.privateKeyPem });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => new Promise((resolve) => server.close(resolve)));
    const served = async (): Promise<string | undefined> => {
      const address = server.address();
      assert.ok(typeof address === "object" && address !== null);
      const { port } = address;
      const socket = connect({ port, servername: "localhost", ca: current.caPem });
      await once(socket, "secureConnect");
      const fingerprint = socket.getPeerX509Certificate()?.fingerprint256;
      socket.destroy();
      return fingerprint;
    };
    assert.equal(await served(), new X509Certificate(current.certificatePem).fingerprint256);

    // TLS goes by the real time, at which a renewed certificate would not be valid yet: a new name
    // makes it change instead.
    const seen: ServingCertificates[] = [];
    const second = renewServingCertificates({
      directory,
      hostnames: ["localhost", "kcp.example.com"],
      clock: { ...clock, now: systemClock.now },
      current,
      onChange(certificates) {
        seen.push(certificates);
        server.setSecureContext({
          cert: certificates.certificatePem,
          key: certificates.privateKeyPem,
        });
      },
      onError: (error) => assert.fail(String(error)),
    });
    await clock.fire();
    second.stop();
    assert.equal(seen.length, 1);
    const renewed = new X509Certificate(seen[0]?.certificatePem ?? "");
    assert.notEqual(renewed.checkHost("kcp.example.com"), undefined);
    assert.equal(await served(), renewed.fingerprint256);
  });
});
