/** Hostile clients of a shard: what they send selects neither an identity nor another shard. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ApiRequest } from "@kcp-ts/apiserver/request/api-request";
import type { TestServer } from "@kcp-ts/apiserver/testing";
import { workspaceContentAuthorizer } from "../access/index.ts";
import type { TenancyExtension } from "../tenancy-extension.ts";
import { startTestShards, type TestShards } from "../testing/index.ts";

const onB = "0123456789abcdef--b";
const maps = (cluster: string) => `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;

describe("clients of several shards", () => {
  let shards: TestShards;
  let root: TestServer<TenancyExtension>;
  let b: TestServer<TenancyExtension>;
  before(async () => {
    const tenancy = { gate: workspaceContentAuthorizer };
    shards = await startTestShards({ names: ["root", "b"], tenancy });
    root = shards.get("root");
    b = shards.get("b");
    const body = { metadata: { name: "secret" }, data: { of: "b" } };
    await b.requestOk("POST", maps(onB), { body });
  });
  after(() => shards.close());

  it("are authorized by the shard that has the cluster, as themselves", async () => {
    for (const user of ["a", "nobody", "anonymous"] as const) {
      const there = await b.get(maps(onB), { user });
      const here = await root.get(maps(onB), { user });
      assert.equal(here.status, 403, user);
      assert.deepEqual(here.object.message, there.object.message, user);
    }
    assert.equal((await root.get(maps(onB))).status, 200);
  });

  it("get no other identity by any header that a proxy, or a shard, could send", async () => {
    const identities = {
      "x-remote-user": "kcp-admin",
      "x-remote-group": "system:masters",
      "x-forwarded-user": "kcp-admin",
      "x-kubernetes-sharded-request": "true",
      "x-kcp-hops": "1",
      "x-kcp-shard": "root",
      "x-vouched-user": JSON.stringify({ username: "x", groups: ["system:masters"] }),
    };
    for (const [name, value] of Object.entries(identities)) {
      const answer = await root.get(maps(onB), { user: "nobody", headers: { [name]: value } });
      assert.equal(answer.status, 403, name);
    }
    const all = await root.get(maps(onB), { user: "nobody", headers: identities });
    assert.equal(all.status, 403);
  });

  it("cannot reach what shards ask each other, by any path", async () => {
    const operations = ["resolve", "report", "createCluster", "deleteCluster", "readCluster"];
    for (const operation of operations)
      for (const prefix of [
        "",
        "/shards/b",
        "/shards/root",
        "/clusters/root",
        `/clusters/${onB}`,
      ]) {
        const target = `${prefix}/shard/${operation}/${onB}`;
        for (const user of ["masters", "nobody"] as const)
          for (const method of ["GET", "POST"]) {
            const answer = await root.request(method, target, { user, body: {} });
            assert.ok(
              [403, 404, 405].includes(answer.status),
              `${method} ${target}: ${answer.text}`,
            );
          }
      }
    assert.equal((await b.get(`${maps(onB)}/secret`)).status, 200);
  });

  it("cannot reach what shards ask each other, by any method", async () => {
    const operation = `/shard/resolve/${onB}/`;
    const methods = [
      // What is longer than a byte says, and what has more bytes than characters.
      `POST${operation}`.padEnd(256 + 4, "x"),
      `PO${"\u00e9".repeat(2)}${operation}`,
      `POST${operation}`,
      "GET/shards",
      "BREW",
      "",
    ];
    for (const method of methods)
      for (const user of ["anonymous", "nobody"] as const) {
        const body = '"root:any"';
        const answer = await root.request(method, maps(onB), { user, body });
        assert.ok(answer.status >= 400, `${method}: ${answer.text}`);
        assert.doesNotMatch(answer.text, /"result"/, method);
      }
    assert.deepEqual((await b.get(maps(onB))).names, ["secret"]);
  });

  it("learn nothing of clusters that do not exist, on this shard or another one", async () => {
    const messages = new Set<string>();
    for (const cluster of [
      "1111111111111111",
      "1111111111111111--b",
      "1111111111111111--nowhere",
    ]) {
      const answer = await root.get(maps(cluster), { user: "nobody" });
      assert.equal(answer.status, 403, cluster);
      messages.add(answer.object.message ?? "");
    }
    for (const path of ["root:missing", `${onB}:missing`]) {
      const answer = await root.get(maps(path), { user: "nobody" });
      assert.equal(answer.status, 403, path);
      messages.add(answer.object.message ?? "");
    }
    assert.equal(messages.size, 1, [...messages].join("; "));
  });

  it("cannot name a cluster twice, or spell it so that two shards read different ones", async () => {
    const both = { headers: { "x-kubernetes-cluster": "root" } };
    assert.equal((await root.get(maps(onB), both)).status, 400);
    const encoded = maps(onB).replace("--b", "%2d%2Db");
    assert.deepEqual((await root.get(encoded)).names, ["secret"]);
    for (const spelling of [`${onB}%2f..%2froot`, `${onB}%00`, `${onB}/..`, `..%2f${onB}`]) {
      const answer = await root.get(maps(spelling), { user: "nobody" });
      assert.ok([400, 403, 404].includes(answer.status), `${spelling}: ${answer.status}`);
    }
  });

  it("are limited by the shard that serves them, also in what they send", async () => {
    const body = { metadata: { name: "large" }, data: { x: "x".repeat(4 << 20) } };
    assert.equal((await root.request("POST", maps(onB), { body })).status, 413);
    const refused = await root.request("POST", maps(onB), { body, user: "nobody" });
    assert.ok([403, 413].includes(refused.status), refused.text);
  });

  it("whose headers repeat are understood as they are by the serving shard", async () => {
    const request: ApiRequest = {
      method: "GET",
      target: maps(onB),
      headers: {
        authorization: "Bearer token-of-masters",
        "impersonate-user": "x",
        "impersonate-group": "one, system:masters",
      },
      rawHeaders: [
        ...["Authorization", "Bearer token-of-masters", "Impersonate-User", "x"],
        ...["Impersonate-Group", "one", "Impersonate-Group", "system:masters"],
      ],
      remoteAddress: "127.0.0.1",
      clientCertificate: undefined,
      onClose: () => {},
      readBody: async () => new Uint8Array(),
    };
    const answer = await root.server.handle(request);
    assert.equal(answer.status, 200);
  });
});
