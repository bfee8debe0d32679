/**
 * Client certificates from a socket to a user: a real HTTP/2 listener that accepts any client
 * certificate, and the authenticator that does not. openssl creates the certificates, so that no
 * code of this repository verifies itself.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import type { X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, createSecureServer, type Http2ServerRequest } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { TLSSocket } from "node:tls";
import { systemClock } from "@kcp-ts/machinery/base";
import {
  ClientCertificateAuthenticator,
  isAuthenticationError,
  ReloadableClientCa,
  RequestAuthenticator,
} from "./index.ts";

describe("client certificates over HTTP/2", () => {
  it("authenticate their holders, and unknown certificates get a 401", async (t) => {
    const pki = await makePki(t);
    if (pki === undefined) return;
    const ca = new ReloadableClientCa(pki.ca.cert, "ca.crt");
    const gate = new RequestAuthenticator({
      authenticators: [
        new ClientCertificateAuthenticator({ authorities: [ca], clock: systemClock }),
      ],
      anonymous: true,
    });
    const origin = await serve(t, pki.server, async (clientCertificate) => {
      try {
        return (await gate.authenticate({ clientCertificate })).username;
      } catch (error) {
        assert.ok(isAuthenticationError(error));
        return error.code;
      }
    });
    const ask = (pair?: Pair) => get(origin, pki.ca.cert, pair);
    assert.equal(await ask(pki.alice), "alice");
    assert.equal(await ask(pki.stranger), "invalid-certificate");
    assert.equal(await ask(), "system:anonymous");
    ca.reload(pki.stranger.cert);
    assert.equal(await ask(pki.alice), "invalid-certificate");
  });
});

interface Pair {
  readonly cert: string;
  readonly key: string;
}

async function makePki(t: TestContext) {
  if (spawnSync("openssl", ["version"]).status !== 0) {
    t.skip("openssl is not on the PATH");
    return undefined;
  }
  const directory = await mkdtemp(join(tmpdir(), "mutual-tls-"));
  t.after(() => rm(directory, { recursive: true }));
  const make = async (name: string, subject: string, ...args: readonly string[]): Promise<Pair> => {
    const fixed = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2".split(" ");
    const files = ["-keyout", `${name}.key`, "-out", `${name}.crt`, "-subj", subject];
    const made = spawnSync("openssl", [...fixed, ...files, ...args], {
      cwd: directory,
      encoding: "utf8",
    });
    assert.equal(made.status, 0, made.stderr);
    const read = (ending: string) => readFile(join(directory, `${name}.${ending}`), "utf8");
    return { cert: await read("crt"), key: await read("key") };
  };
  const byCa = "-CA ca.crt -CAkey ca.key -addext basicConstraints=critical,CA:FALSE".split(" ");
  return {
    ca: await make("ca", "/CN=ca"),
    server: await make("server", "/CN=x", ...byCa, "-addext", "subjectAltName=IP:127.0.0.1"),
    alice: await make("alice", "/O=g1/CN=alice", ...byCa, "-addext", "extendedKeyUsage=clientAuth"),
    stranger: await make("stranger", "/O=system:masters/CN=root"),
  };
}

async function serve(
  t: TestContext,
  pair: Pair,
  answer: (certificate: X509Certificate | undefined) => Promise<string>,
): Promise<string> {
  const server = createSecureServer({
    ...pair,
    allowHTTP1: true,
    requestCert: true,
    rejectUnauthorized: false,
  });
  server.on("request", (request: Http2ServerRequest, response) => {
    const socket = request.stream.session?.socket as TLSSocket;
    answer(socket.getPeerX509Certificate()).then(
      (text) => response.end(text),
      (error) => response.destroy(error),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => new Promise((resolve) => server.close(resolve)));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return `https://127.0.0.1:${address.port}`;
}

async function get(origin: string, ca: string, pair?: Pair): Promise<string> {
  const session = connect(origin, { ca, ...pair });
  try {
    const stream = session.request({ ":path": "/" });
    let body = "";
    for await (const chunk of stream) body += String(chunk);
    return body;
  } finally {
    await new Promise<void>((resolve) => session.close(resolve));
  }
}
