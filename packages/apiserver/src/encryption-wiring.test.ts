/**
 * Goal: a KMS v2 plug-in on a Unix socket wraps the keys of stored values, is restarted, rotates
 * its key while the server runs, and fails. Method: a plug-in of the test's own, on HTTP/2.
 */
import assert from "node:assert/strict";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Http2Session, type ServerHttp2Stream } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { neverAborted } from "@kcp-ts/machinery/base";
import { eventually, FakeClock } from "@kcp-ts/testkit";
import { encryptStorage } from "./encryption-wiring.ts";
import type { Storage, StorageKey } from "./storage/index.ts";
import { MemoryStorage } from "./storage/memory/index.ts";

/** Keys by ID, of which the last is in use. Annotations have to come back as they were sent. */
class Plugin {
  readonly keys = new Map<string, Buffer>([["1", randomBytes(32)]]);
  readonly calls: string[] = [];
  healthz = "ok";
  #sessions = new Set<Http2Session>();
  #server = createServer();

  get keyId(): string {
    return [...this.keys.keys()].at(-1) as string;
  }

  async listen(path: string): Promise<void> {
    this.#server = createServer();
    this.#server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("error", () => session.destroy());
    });
    this.#server.on("stream", (stream, headers) => {
      const chunks: Buffer[] = [];
      stream.on("error", () => stream.destroy());
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => this.#answer(stream, String(headers[":path"]), Buffer.concat(chunks)));
    });
    this.#server.listen(path);
    await once(this.#server, "listening");
  }

  async close(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(stream: ServerHttp2Stream, path: string, frame: Buffer): void {
    const method = path.replace("/v2.KeyManagementService/", "");
    this.calls.push(method);
    stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    const fields = new Map<number, Uint8Array>();
    const reader = new BinaryReader(frame.subarray(5));
    while (reader.pos < reader.len) fields.set(reader.tag()[0], reader.bytes());
    const answer = this.#answerOf(method, fields);
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(answer.length, 1);
    stream.end(Buffer.concat([prefix, answer]));
  }

  #answerOf(method: string, fields: ReadonlyMap<number, Uint8Array>): Uint8Array {
    const writer = new BinaryWriter();
    const text = (field: number) => Buffer.from(fields.get(field) ?? []).toString();
    if (method === "Status")
      return writer
        .uint32(10)
        .string("v2")
        .uint32(18)
        .string(this.healthz)
        .uint32(26)
        .string(this.keyId)
        .finish();
    if (method === "Encrypt") {
      const iv = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", this.keys.get(this.keyId) as Buffer, iv);
      const body = Buffer.concat([cipher.update(fields.get(1) ?? ""), cipher.final()]);
      const entry = new BinaryWriter().uint32(10).string("iv").uint32(18).bytes(iv).finish();
      const wrapped = Buffer.concat([cipher.getAuthTag(), body]);
      return writer
        .uint32(10)
        .bytes(wrapped)
        .uint32(18)
        .string(this.keyId)
        .uint32(26)
        .bytes(entry)
        .finish();
    }
    assert.equal(method, "Decrypt");
    const ciphertext = Buffer.from(fields.get(1) ?? []);
    const iv = Buffer.from(fields.get(4) ?? []).subarray(-12);
    const decipher = createDecipheriv("aes-256-gcm", this.keys.get(text(3)) as Buffer, iv);
    decipher.setAuthTag(ciphertext.subarray(0, 16));
    const plaintext = Buffer.concat([decipher.update(ciphertext.subarray(16)), decipher.final()]);
    return writer.uint32(10).bytes(plaintext).finish();
  }
}

async function fixture(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "kcp-kms-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const socket = join(folder, "kms.sock");
  const plugin = new Plugin();
  await plugin.listen(socket);
  t.after(() => plugin.close());
  const inner = new MemoryStorage();
  const clock = new FakeClock();
  const errors: string[] = [];
  const rewritten: unknown[] = [];
  const log = {
    info: ({ count }: { count?: unknown }) => rewritten.push(count),
    error: (_: object, message: string) => errors.push(message),
  };
  const kms = { apiVersion: "v2", name: "vault", endpoint: `unix://${socket}`, timeout: "5s" };
  const config = JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [{ resources: ["secrets"], providers: [{ kms }, { identity: {} }] }],
  });
  const open = () => encryptStorage(inner, { config, clock, log });
  return { plugin, socket, inner, clock, errors, rewritten, open };
}

const call = { signal: neverAborted };
const key = (name: string) => `//secrets//team/default/${name}` as StorageKey;
const put = (storage: Storage, name: string) =>
  storage.commit({ key: key(name), value: Buffer.from(`of ${name}`), expected: "absent" }, call);
const read = async (storage: Storage, name: string) =>
  Buffer.from((await storage.get(key(name), call))?.value ?? []).toString();

describe("a KMS v2 plug-in", () => {
  it("wraps one data key for all values of a start, and unwraps it at the next one", async (t) => {
    const { plugin, socket, inner, open } = await fixture(t);
    const first = await open();
    for (const name of ["a", "b", "c"]) await put(first, name);
    const { value } = (await inner.get(key("a"), call)) ?? {};
    assert.ok(!Buffer.from(value ?? []).includes("of a"));
    await plugin.close();
    await plugin.listen(socket);
    const second = await open();
    assert.deepEqual(await Promise.all(["a", "b", "c"].map((name) => read(second, name))), [
      "of a",
      "of b",
      "of c",
    ]);
    const counts = ["Encrypt", "Decrypt"].map((method) => [
      method,
      plugin.calls.filter((one) => one === method).length > 0,
    ]);
    assert.deepEqual(counts, [
      ["Encrypt", true],
      ["Decrypt", true],
    ]);
    assert.equal(plugin.calls.filter((one) => one === "Encrypt").length, 2, "one for each start");
  });

  it("rotates its key while the server runs: values are written again, and the old key is not needed", async (t) => {
    const { plugin, clock, rewritten, inner, open } = await fixture(t);
    const storage = await open();
    await eventually(() => assert.deepEqual(rewritten, [0]));
    await put(storage, "a");
    plugin.keys.set("2", randomBytes(32));
    await eventually(() => {
      // With a call in flight there are more: it would time out.
      if (clock.pendingTimers === 1) clock.advance(60_000);
      assert.deepEqual(rewritten, [0, 1]);
    });
    await put(storage, "b");
    plugin.keys.delete("1");
    const next = await open();
    assert.equal(await read(next, "a"), "of a");
    assert.equal(await read(next, "b"), "of b");
    const stored = Buffer.from((await inner.get(key("a"), call))?.value ?? []);
    assert.ok(!stored.includes("of a"));
  });

  it("that is down, or not healthy, is reported; what was opened before stays readable", async (t) => {
    const { plugin, clock, errors, rewritten, open } = await fixture(t);
    const storage = await open();
    await put(storage, "a");
    await eventually(() => assert.deepEqual(rewritten, [0]));
    plugin.healthz = "sealed";
    await eventually(() => {
      // With a call in flight there are more: it would time out.
      if (clock.pendingTimers === 1) clock.advance(60_000);
      assert.match(errors.join(), /does not say which key is in use/);
    });
    await plugin.close();
    assert.equal(await read(storage, "a"), "of a");
    await put(storage, "b");
    await assert.rejects(open(), /KMS plug-in unix:.*Encrypt/);
  });
});
