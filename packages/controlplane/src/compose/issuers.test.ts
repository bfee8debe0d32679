/**
 * Goal: users of a real issuer, over real TLS, are authenticated as flags and files configure it.
 */
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { documentBytesMax, documentFetcher, fetchTimeoutMs } from "@kcp-ts/apiserver/webhooks";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { createCertificateAuthority, exportKey, generateKey, issueCertificate } from "@kcp-ts/pki";
import { eventually, FakeClock } from "@kcp-ts/testkit";
import { ControlPlaneCore } from "./core.ts";
import type { IssuerOptions } from "./issuers.ts";

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

describe("a trusted issuer", () => {
  let server: Server;
  let folder: string;
  let url: string;
  let caFile: string;
  let caPem: string;
  let isDown = false;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "issuer-"));
    const now = systemClock.now();
    const authority = createCertificateAuthority({ commonName: "issuer-ca", now });
    const key = generateKey();
    const { certificatePem } = issueCertificate({
      authority,
      subject: { commonName: "issuer" },
      purposes: ["serverAuth"],
      hostnames: ["127.0.0.1"],
      key,
      now,
    });
    caPem = authority.certificatePem;
    caFile = join(folder, "ca.crt");
    await writeFile(caFile, caPem);
    server = createServer({ cert: certificatePem, key: exportKey(key) }, (request, response) => {
      const answers: Record<string, () => string> = {
        "/.well-known/openid-configuration": () =>
          JSON.stringify({ issuer: url, jwks_uri: `${url}/keys` }),
        "/keys": () =>
          JSON.stringify({
            keys: [
              { ...createPublicKey(privateKey).export({ format: "jwk" }), kid: "k", use: "sig" },
            ],
          }),
        "/large": () => JSON.stringify("x".repeat(documentBytesMax - 2)),
        "/larger": () => JSON.stringify("x".repeat(documentBytesMax - 1)),
        "/broken": () => "{",
      };
      if (request.url === "/silent") return;
      if (isDown) {
        request.socket.destroy();
        return;
      }
      const answer = answers[request.url ?? ""];
      response.writeHead(answer === undefined ? 404 : 200).end(answer?.() ?? "");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server.close();
    server.closeAllConnections();
    await rm(folder, { recursive: true });
  });

  function token(claims: object): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const exp = Math.floor(systemClock.now() / 1000) + 600;
    const body = { iss: url, aud: "kcp", sub: "alice", exp, ...claims };
    const signed = `${part({ alg: "RS256", kid: "k" })}.${part(body)}`;
    return `${signed}.${sign("sha256", Buffer.from(signed), privateKey).toString("base64url")}`;
  }

  async function withCore(options: IssuerOptions, body: (core: ControlPlaneCore) => Promise<void>) {
    const storage = new MemoryStorage();
    const quiet = () => {};
    const core = await ControlPlaneCore.compose({
      ...options,
      storage,
      tokens: undefined,
      anonymousAuth: true,
      extensions: {},
      clock: systemClock,
      random: systemRandom,
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet, isDebugEnabled: false },
    });
    try {
      await core.start();
      await body(core);
    } finally {
      await core.stopControllers();
      await core.server.close();
      await storage.close();
    }
  }

  /** The status, and the user in the error of a forbidden request. */
  async function refusedAs(
    core: ControlPlaneCore,
    bearer: string | undefined,
    target = "/api/v1/namespaces/default/secrets",
  ): Promise<string> {
    const response = await core.handle({
      method: "GET",
      target,
      headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
      remoteAddress: "",
      clientCertificate: undefined,
      onClose: () => {},
      readBody: async () => new Uint8Array(),
    });
    if (response.status === 200) return "200";
    const { message } = JSON.parse(Buffer.from(response.body as Uint8Array).toString());
    return /User "([^"]*)"/.exec(message)?.[1] ?? String(response.status);
  }

  it("is configured by flags, with its own CA", async () => {
    const flags = { oidcIssuerUrl: url, oidcClientId: "kcp", oidcUsernamePrefix: "-" };
    await withCore({ ...flags, oidcCaFile: caFile }, async (core) => {
      assert.equal(await refusedAs(core, token({})), "alice");
      assert.equal(await refusedAs(core, token({ aud: "other" })), "401");
      assert.equal(await refusedAs(core, `${token({})}x`), "401");
    });
    await withCore(flags, async (core) => assert.equal(await refusedAs(core, token({})), "401"));
  });

  it("is configured by a file, which is read again when it changes and kept when it is invalid", async () => {
    const path = join(folder, "config.yaml");
    const config = (prefix: string) => `
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: ${url}
    audiences: [kcp]
    certificateAuthority: ${JSON.stringify(caPem)}
  claimMappings:
    username: {expression: "'${prefix}' + claims.sub"}
`;
    await writeFile(path, config("one-"));
    await withCore({ authenticationConfig: path }, async (core) => {
      assert.equal(await refusedAs(core, token({})), "one-alice");
      await writeFile(path, config("second-"));
      await core.files.check();
      await eventually(async () => assert.equal(await refusedAs(core, token({})), "second-alice"));
      await writeFile(path, "kind: nonsense");
      await core.files.check();
      assert.equal(await refusedAs(core, token({})), "second-alice");
    });
  });

  it("is trusted by another CA as soon as the file contains it, and by the old one while the file contains none", async () => {
    const path = join(folder, "other-ca.crt");
    const now = systemClock.now();
    const other = createCertificateAuthority({ commonName: "other-ca", now });
    await writeFile(path, other.certificatePem);
    const flags = { oidcIssuerUrl: url, oidcClientId: "kcp", oidcUsernamePrefix: "-" };
    await withCore({ ...flags, oidcCaFile: path }, async (core) => {
      assert.equal(await refusedAs(core, token({})), "401");
      await writeFile(path, `${other.certificatePem}${caPem}`);
      await core.files.check();
      assert.equal(await refusedAs(core, token({})), "alice");
      await writeFile(path, "nonsense");
      await core.files.check();
      assert.equal(await refusedAs(core, token({ jti: "new" })), "alice");
      await writeFile(path, other.certificatePem);
      await core.files.check();
      assert.equal(await refusedAs(core, token({ jti: "newer" })), "401");
    });
    await writeFile(path, "nonsense");
    const started = withCore({ ...flags, oidcCaFile: path }, async () => {});
    await assert.rejects(started, /other-ca\.crt: holds no certificate/);
  });

  it("is configured beside anonymous authentication, which follows the current content of the file", async () => {
    const path = join(folder, "strangers.yaml");
    const config = (anonymous: string) =>
      `{apiVersion: apiserver.config.k8s.io/v1, kind: AuthenticationConfiguration${anonymous}}`;
    const changed = async (core: ControlPlaneCore, anonymous: string) => {
      await writeFile(path, config(anonymous));
      await core.files.check();
      return [await refusedAs(core, undefined), await refusedAs(core, undefined, "/livez")];
    };
    await writeFile(path, config(", anonymous: {enabled: true}"));
    await withCore({ authenticationConfig: path }, async (core) => {
      assert.equal(await refusedAs(core, undefined), "system:anonymous");
      assert.deepEqual(await changed(core, ", anonymous: {enabled: false}"), ["401", "401"]);
      const only = ", anonymous: {enabled: true, conditions: [{path: /livez}]}";
      assert.deepEqual(await changed(core, only), ["401", "200"]);
      // An invalid configuration opens nothing.
      assert.deepEqual(
        await changed(core, ", anonymous: {enabled: false, conditions: [{path: /x}]}"),
        ["401", "200"],
      );
      // Without the field the flag applies.
      assert.deepEqual(await changed(core, ""), ["system:anonymous", "200"]);
    });
  });

  it("keeps its known keys when the file is read again while it is unreachable", async () => {
    const path = join(folder, "reread.yaml");
    const config = (prefix: string) => `
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: ${url}
    audiences: [kcp]
    certificateAuthority: ${JSON.stringify(caPem)}
  claimMappings:
    username: {claim: sub, prefix: "${prefix}"}
`;
    await writeFile(path, config("before-"));
    await withCore({ authenticationConfig: path }, async (core) => {
      assert.equal(await refusedAs(core, token({})), "before-alice");
      isDown = true;
      try {
        await writeFile(path, config("afterwards-"));
        await core.files.check();
        await eventually(async () =>
          assert.equal(await refusedAs(core, token({ jti: "new" })), "afterwards-alice"),
        );
      } finally {
        isDown = false;
      }
    });
  });

  it("cannot be configured partially", async () => {
    const compose = (options: IssuerOptions) => withCore(options, async () => {});
    await assert.rejects(compose({ oidcIssuerUrl: url }), /go together/);
    await assert.rejects(compose({ oidcIssuerUrl: "http://x", oidcClientId: "k" }), /https/);
    const both = { oidcIssuerUrl: url, oidcClientId: "k" };
    await assert.rejects(compose({ ...both, authenticationConfig: "x" }), /exclude each other/);
    await assert.rejects(compose({ ...both, oidcSigningAlgs: ["none"] }), /none is none of/);
    await assert.rejects(compose({ ...both, oidcRequiredClaims: ["x"] }), /name=value/);
    await assert.rejects(compose({ authenticationConfig: "/nosuch" }), /no such file/);
  });

  it("has its documents fetched within limits, and no others are trusted", async () => {
    const fetch = documentFetcher(systemClock);
    const ask = (path: string) => fetch(url + path, { certificateAuthority: caPem });
    assert.equal(String(await ask("/large")).length, documentBytesMax - 2);
    await assert.rejects(ask("/larger"), /more than 1048576 bytes/);
    await assert.rejects(ask("/broken"), /no JSON/);
    await assert.rejects(ask("/nosuch"), /status 404/);
    const clock = new FakeClock();
    const silent = documentFetcher(clock)(`${url}/silent`, { certificateAuthority: caPem });
    clock.advance(fetchTimeoutMs);
    await assert.rejects(silent, /no answer in time/);
    await assert.rejects(fetch(`${url}/keys`, { certificateAuthority: undefined }), /certificate/);
  });
});
