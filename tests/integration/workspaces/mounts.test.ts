/**
 * Goal: a workspace that is a mount is what its mount object says: ready or not, here or elsewhere.
 * Requests reach it as who made them, and nothing that could be used in their name leaves this
 * server.
 */
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { createCertificateAuthority, exportKey, generateKey, issueCertificate } from "@kcp-ts/pki";
import { type DynamicObject, defineResource } from "@kcp-ts/sdk";
import { asyncListener, eventually as eventuallySoon } from "@kcp-ts/testkit";
import {
  alice,
  bob,
  conditionOf,
  kinds,
  master,
  phaseOf,
  specOf,
  statusOfRejection,
  WorkspaceFixture,
} from "./workspace-fixture.ts";

const remotes = defineResource<DynamicObject>({
  group: "mounts.example.com",
  version: "v1",
  resource: "remotes",
  kind: "Remote",
  namespaced: false,
});

const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const definition = {
  metadata: { name: "remotes.mounts.example.com" },
  spec: {
    group: "mounts.example.com",
    names: { plural: "remotes", singular: "remote", kind: "Remote", listKind: "RemoteList" },
    scope: "Cluster",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", properties: { status: open } } },
      },
    ],
  },
};

interface Heard {
  readonly url: string;
  readonly method: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/**
 * A definition that comes late is noticed some seconds later, and the machine may have much else to
 * do.
 */
const eventually = <Value>(check: () => Promise<Value>): Promise<Value> =>
  eventuallySoon(check, { timeoutMs: 60_000 });

describe("a workspace that is a mount", () => {
  let fixture: WorkspaceFixture;
  let remote: Server;
  let remoteUrl = "";
  const heard: Heard[] = [];

  before(async () => {
    const now = systemClock.now();
    const authority = createCertificateAuthority({ commonName: "remote", now });
    const key = generateKey();
    const { certificatePem: cert } = issueCertificate({
      authority,
      key,
      now,
      subject: { commonName: "remote" },
      purposes: ["serverAuth"],
      hostnames: ["localhost", "127.0.0.1"],
    });
    remote = createServer(
      { cert, key: exportKey(key) },
      asyncListener(async (request, response) => {
        const parts: Buffer[] = [];
        for await (const part of request) parts.push(part as Buffer);
        const { url = "", method = "", headers } = request;
        heard.push({ url, method, headers, body: Buffer.concat(parts).toString("utf8") });
        if (url.includes("redirect")) return response.writeHead(302, { location: "/x" }).end();
        response.writeHead(200, { "content-type": "application/json", "set-cookie": "a=b" });
        if (!url.includes("watch=")) return response.end('{"kind":"Elsewhere"}');
        response.write(
          `${JSON.stringify({ type: "ADDED", object: { metadata: { name: "x" } } })}\n`,
        );
        return undefined;
      }),
    );
    await new Promise<void>((resolve) => remote.listen(0, "127.0.0.1", resolve));
    remoteUrl = `https://127.0.0.1:${(remote.address() as AddressInfo).port}/far`;
    const allowedHosts = [new URL(remoteUrl).host];
    fixture = await WorkspaceFixture.start({
      mounts: { caPem: authority.certificatePem, allowedHosts },
    });
    await fixture.workspace("root", "org", { user: master });
    await fixture.grant("root:org", alice, ["cluster-admin"]);
    await fixture.workspace("root:org", "team", { user: alice, type: "root:universal" });
  });
  after(async () => {
    await fixture.close();
    remote.closeAllConnections();
    await new Promise((resolve) => remote.close(resolve));
  });

  const mount = (name: string, namedBy = name) =>
    fixture
      .at("root:org", alice)
      .resource(kinds.workspaces)
      .create({
        metadata: { name },
        spec: {
          mount: { ref: { apiVersion: "mounts.example.com/v1", kind: "Remote", name: namedBy } },
        },
      } as never);
  const isIn = (name: string, phase: string, reason?: string) =>
    eventually(async () => {
      const found = await fixture.at("root:org", alice).resource(kinds.workspaces).get({ name });
      assert.equal(phaseOf(found), phase);
      assert.equal(conditionOf(found, "WorkspaceMountReady")?.["reason"], reason);
      return found;
    });
  const say = async (name: string, status: object) => {
    const resource = fixture.at("root:org", alice).resource(remotes);
    const found = await resource.get({ name });
    await resource.updateStatus({ ...found, status } as never);
  };
  const object = (name: string) => ({ metadata: { name } });

  it("follows its mount object through all that can become of it", async () => {
    await mount("here");
    await isIn("here", "Unavailable", "MountObjectNotFound");
    await fixture
      .at("root:org", alice)
      .resource(kinds.definitions)
      .create(definition as never);
    const resource = fixture.at("root:org", alice).resource(remotes);
    await eventually(async () => void (await resource.create(object("here"))));
    await isIn("here", "Unavailable", "MountObjectNotReady");
    await say("here", {
      phase: "Connecting",
      URL: "https://localhost:6443/clusters/root:org:team",
    });
    await isIn("here", "Unavailable", "MountObjectNotReady");
    const closed = fixture.at("root:org:here", master).resource(kinds.namespaces).list({});
    assert.equal((await statusOfRejection(closed)).code, 503);
    await say("here", { phase: "Ready", URL: "http://localhost/plain" });
    await isIn("here", "Unavailable", "MountObjectNotReady");
    await say("here", { phase: "Ready", URL: "https://localhost:6443/clusters/root:org:team" });
    const ready = await isIn("here", "Ready");
    assert.equal(specOf(ready)["URL"], "https://localhost:6443/clusters/root:org:team");
    assert.equal(specOf(ready)["cluster"], undefined);
  });

  it("of a workspace of this server is that workspace, with the rights that one has there", async () => {
    const configMap = { metadata: { name: "through", namespace: "default" } };
    const eventuallyMade = fixture.at("root:org:here", alice).resource(kinds.configMaps);
    await eventually(async () => void (await eventuallyMade.create(configMap)));
    await fixture
      .at("root:org:team", alice)
      .resource(kinds.configMaps)
      .get({ name: "through", namespace: "default" });
    const stranger = fixture.at("root:org:here", bob).resource(kinds.configMaps).list({});
    assert.equal((await statusOfRejection(stranger)).code, 403);
  });

  it("that leads to itself is not available", async () => {
    await fixture.at("root:org", alice).resource(remotes).create(object("loop"));
    await mount("loop");
    await say("loop", { phase: "Ready", URL: "https://localhost:6443/clusters/root:org:loop" });
    await isIn("loop", "Ready");
    await eventually(async () => {
      const asked = fixture.at("root:org:loop", master).resource(kinds.namespaces).list({});
      assert.equal((await statusOfRejection(asked)).code, 503);
    });
  });

  it("of another server sends requests there, with who asks and without what they proved it by", async () => {
    await fixture.at("root:org", alice).resource(remotes).create(object("far"));
    await mount("far");
    await say("far", { phase: "Ready", URL: remoteUrl });
    await isIn("far", "Ready");
    const client = fixture.at("root:org:far", alice);
    const answer = await eventually(() =>
      client.json({ method: "GET", path: "/api/v1/pods?limit=5" }),
    );
    assert.deepEqual(answer, { kind: "Elsewhere" });
    const { url, headers } = heard.at(-1) as Heard;
    assert.equal(url, "/far/api/v1/pods?limit=5");
    assert.equal(headers["x-remote-user"], "alice");
    assert.equal(headers["x-remote-group"], "system:authenticated");
    assert.equal(headers.authorization, undefined);
    await client.json({ method: "POST", path: "/api/v1/namespaces", body: { a: 1 } } as never);
    assert.deepEqual(JSON.parse(heard.at(-1)?.body ?? ""), { a: 1 });
  });

  it("of another server is closed to those who may not enter where it is mounted, and they do not learn of it", async () => {
    const before = heard.length;
    const ask = (path: string) =>
      statusOfRejection(fixture.at(path, bob).json({ method: "GET", path: "/api" }));
    const [there, nowhere] = [await ask("root:org:far"), await ask("root:org:none")];
    assert.deepEqual(there, nowhere);
    assert.equal(there.code, 403);
    assert.equal(heard.length, before);
  });

  it("of another server is watched for as long as the client wants, and its redirects are not forwarded", async () => {
    const client = fixture.at("root:org:far", alice);
    const leaving = new AbortController();
    const watch = client.resource(kinds.configMaps).watch({ signal: leaving.signal });
    assert.equal((await watch.next()).value?.object.metadata.name, "x");
    leaving.abort();
    await watch.return(undefined);
    const sent = await statusOfRejection(client.json({ method: "GET", path: "/redirect" }));
    assert.equal(sent.code, 503);
  });

  it("is unavailable when its object says so, and gone when it is deleted", async () => {
    await say("far", { phase: "Unknown", URL: remoteUrl });
    await isIn("far", "Unavailable", "MountObjectNotReady");
    await fixture.at("root:org", alice).resource(remotes).delete({ name: "far" });
    await isIn("far", "Unavailable", "MountObjectNotFound");
    await fixture.at("root:org", alice).resource(kinds.workspaces).delete({ name: "far" });
    await fixture.gone("root:org", "far");
  });

  it("has no type and no cluster that its creator says", async () => {
    const spec = {
      mount: { ref: { apiVersion: "v1", kind: "Remote", name: "x" } },
      type: { name: "universal", path: "root" },
    };
    const both = fixture
      .at("root:org", alice)
      .resource(kinds.workspaces)
      .create({ metadata: { name: "both" }, spec } as never);
    assert.match((await statusOfRejection(both)).message, /cannot be set together/);
  });
});
