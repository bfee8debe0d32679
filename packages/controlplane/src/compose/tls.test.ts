/** Goal: certificates, names and CAs are replaced while connections stay open. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { Listener } from "@kcp-ts/apiserver";
import { systemClock } from "@kcp-ts/machinery/base";
import {
  createCertificateAuthority,
  exportKey,
  FileWatch,
  generateKey,
  issueCertificate,
  pollIntervalMs,
} from "@kcp-ts/pki";
import { eventually, FakeClock } from "@kcp-ts/testkit";
import { loadTls, type TlsOptions } from "./tls.ts";

const now = systemClock.now();
const authority = createCertificateAuthority({ commonName: "ca", now });

describe("the operator's certificates", () => {
  let folder: string;
  const errors: unknown[] = [];
  const clock = new FakeClock();
  const files = new FileWatch({ clock, onError: (error) => errors.push(error) });
  const listeners: Listener[] = [];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "tls-"));
  });
  after(async () => {
    files.stop();
    for (const listener of listeners) await listener.drain(AbortSignal.abort());
    await rm(folder, { recursive: true });
  });

  const path = (name: string) => join(folder, name);
  let written = 0;
  async function write(name: string, commonName: string, hostnames: string[]): Promise<void> {
    const key = generateKey();
    const { certificatePem } = issueCertificate({
      authority,
      subject: { commonName },
      purposes: ["serverAuth"],
      hostnames,
      key,
      now,
    });
    for (const [suffix, text] of [
      ["crt", certificatePem],
      ["key", exportKey(key)],
    ] as const) {
      await writeFile(path(`${name}.${suffix}`), text);
      // Two writes within the clock's resolution look the same; real ones are further apart.
      const time = new Date(now + ++written * 1000);
      await utimes(path(`${name}.${suffix}`), time, time);
    }
  }

  async function listenWith(options: TlsOptions): Promise<number> {
    const tls = await loadTls(options);
    const listener = new Listener({
      host: "127.0.0.1",
      port: 0,
      tls: tls.own as NonNullable<typeof tls.own>,
      namedTls: tls.named,
      tlsMinVersion: tls.minVersion,
      handle: () => ({ status: 200, headers: {}, body: undefined }),
      onDebug: () => {},
    });
    listeners.push(listener);
    const { port } = await listener.listen();
    await tls.follow(listener, files);
    return port;
  }

  /** The name in the certificate that a client gets, or the error. */
  async function nameAt(port: number, servername: string, more: object = {}): Promise<string> {
    const socket: TLSSocket = connect({
      host: "127.0.0.1",
      port,
      servername,
      ca: authority.certificatePem,
      checkServerIdentity: () => undefined,
      ...more,
    });
    try {
      await once(socket, "secureConnect");
      return String(socket.getPeerCertificate().subject.CN);
    } catch (error) {
      return String((error as Error).message);
    } finally {
      socket.destroy();
    }
  }

  const own = (name = "own") => ({
    tlsCertFile: path(`${name}.crt`),
    tlsPrivateKeyFile: path(`${name}.key`),
  });

  it("are selected by the server name that a client requests", async () => {
    await write("own", "own", ["own.example"]);
    await write("a", "a", ["a.example", "*.wild.example"]);
    await write("b", "b", ["unused.example"]);
    const port = await listenWith({
      ...own(),
      tlsSniCertKeys: [
        `${path("a.crt")},${path("a.key")}`,
        `${path("b.crt")},${path("b.key")}:b.example,a.example`,
      ],
    });
    const expected: Record<string, string> = {
      "own.example": "own",
      "a.example": "a",
      "A.EXAMPLE": "a",
      "x.wild.example": "a",
      "x.y.wild.example": "own",
      "wild.example": "own",
      "b.example": "b",
      "unused.example": "own",
      "other.example": "own",
      localhost: "own",
    };
    for (const [asked, name] of Object.entries(expected)) {
      assert.equal(await nameAt(port, asked), name, asked);
    }
  });

  it("are replaced when their files are, and kept when the new ones are invalid", async () => {
    await write("changing", "first", ["own.example"]);
    await write("named", "named-first", ["n.example"]);
    const sni = `${path("named.crt")},${path("named.key")}`;
    const port = await listenWith({ ...own("changing"), tlsSniCertKeys: [sni] });
    assert.equal(await nameAt(port, "x"), "first");
    await write("changing", "second", ["own.example"]);
    await write("named", "named-second", ["n.example"]);
    clock.advance(pollIntervalMs);
    await eventually(async () => assert.equal(await nameAt(port, "x"), "second"));
    await eventually(async () => assert.equal(await nameAt(port, "n.example"), "named-second"));
    errors.length = 0;
    await writeFile(path("changing.crt"), "half a certif");
    await files.check();
    assert.equal(errors.length, 1);
    assert.equal(await nameAt(port, "x"), "second");
    await write("changing", "third", ["own.example"]);
    await files.check();
    assert.equal(await nameAt(port, "x"), "third");
  });

  it("are used with modern versions and ciphers only", async () => {
    await write("own", "own", ["own.example"]);
    const port = await listenWith(own());
    assert.equal(await nameAt(port, "x", { maxVersion: "TLSv1.2" }), "own");
    assert.notEqual(
      await nameAt(port, "x", {
        maxVersion: "TLSv1.1",
        minVersion: "TLSv1",
        ciphers: "ALL:@SECLEVEL=0",
      }),
      "own",
    );
    const old = { maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-SHA:AES128-SHA" };
    assert.notEqual(await nameAt(port, "x", old), "own");
    const strict = await listenWith({ ...own(), tlsMinVersion: "VersionTLS13" });
    assert.notEqual(await nameAt(strict, "x", { maxVersion: "TLSv1.2" }), "own");
    assert.equal(await nameAt(strict, "x"), "own");
  });

  it("must be complete", async () => {
    await assert.rejects(loadTls({ tlsCertFile: "x" }), /go together/);
    await assert.rejects(loadTls({ tlsSniCertKeys: ["x"] }), /takes certificate,key/);
    await assert.rejects(
      loadTls({ tlsMinVersion: "VersionTLS10" }),
      /VersionTLS12 or VersionTLS13/,
    );
    await assert.rejects(
      loadTls({ tlsCertFile: "/nosuch", tlsPrivateKeyFile: "/nosuch" }),
      /exist/,
    );
  });
});
