/**
 * Goal: whichever operation of the store fails, a retry succeeds and no operation stays half done.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Entry, type Storage, StorageError, type Write } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { TestServer } from "../testing/index.ts";
import {
  apis,
  binding,
  bindingTo,
  cowboyExport,
  cowboySchema,
  flushPendingWork,
  offer,
  until,
} from "./test-support/cowboys.ts";

const masters = { user: "masters" } as const;

/** Fails one write, counted from when it is armed. */
function failing(inner: MemoryStorage): { storage: Storage; arm: (at: number) => void } {
  let left = Number.POSITIVE_INFINITY;
  const commit = (write: Write, options: Parameters<Storage["commit"]>[1]) => {
    if (--left === 0) throw new StorageError("unavailable", "the store was told to fail");
    return inner.commit(write, options);
  };
  const storage = new Proxy(inner, {
    get(target, name) {
      if (name === "commit") return commit;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  }) as unknown as Storage;
  return {
    storage,
    arm: (at) => {
      left = at;
    },
  };
}

/** Retries a create until it is accepted; an object that exists already counts as accepted. */
async function insist(test: TestServer, path: string, body: object): Promise<void> {
  for (let tries = 0; tries < 3; tries++) {
    const { status } = await test.request("POST", path, { ...masters, body });
    if (status === 201 || status === 409) return;
  }
  assert.fail(`${path} was not taken`);
}

describe("a store that fails at the N-th write", () => {
  const writes = 12;
  for (let at = 1; at <= writes; at++) {
    it(`write ${at}: the API is bound, and unbound without a trace`, async () => {
      const { storage, arm } = failing(new MemoryStorage());
      const test = await TestServer.start({ storage });
      arm(at);
      await insist(
        test,
        `${apis("provider", "v1alpha1")}/apiresourceschemas`,
        cowboySchema("today"),
      );
      await insist(test, `${apis("provider")}/apiexports`, cowboyExport("today"));
      await insist(test, `${apis("consumer")}/apibindings`, bindingTo("provider"));
      for (let turn = 0; turn < 5; turn++) {
        await flushPendingWork(test);
        test.clock.advance(200);
      }
      const bound = await binding(test, "consumer");
      assert.equal((bound["status"] as { phase: string }).phase, "Bound");
      const path = `${apis("consumer")}/apibindings/cowboys`;
      for (let tries = 0; tries < 2; tries++) await test.request("DELETE", path, masters);
      for (let turn = 0; turn < 5; turn++) {
        await flushPendingWork(test);
        test.clock.advance(200);
      }
      assert.equal((await test.get(path, masters)).status, 404);
      await test.close();
    });
  }

  for (let at = 1; at <= writes; at++) {
    it(`write ${at}: an export that changes is followed, in schema and claims, and a type's bindings are kept`, async () => {
      const { storage, arm } = failing(new MemoryStorage());
      const test = await TestServer.start({ storage });
      await test.server.bootstrap("https://kcp.example.com");
      await offer(test, "provider");
      const tenancy = "/clusters/root/apis/tenancy.kcp.io/v1alpha1";
      const defaultAPIBindings = [{ path: "provider", export: "cowboys" }];
      const spec = { defaultAPIBindingLifecycle: "Maintain", defaultAPIBindings: [] as object[] };
      await insist(test, `${tenancy}/workspacetypes`, { metadata: { name: "western" }, spec });
      const type = { name: "western", path: "root" };
      await insist(test, `${tenancy}/workspaces`, { metadata: { name: "team" }, spec: { type } });
      const cluster = (
        (await test.requestOk("GET", `${tenancy}/workspaces/team`, masters))["spec"] as {
          cluster: string;
        }
      ).cluster;
      arm(at);
      const change = async (path: string, body: object) => {
        for (let tries = 0; tries < 3; tries++)
          if ((await test.patch(path, "merge", { spec: body }, masters)).status === 200) return;
        assert.fail(`${path} was not changed`);
      };
      await change(`${tenancy}/workspacetypes/western`, { defaultAPIBindings });
      const schemas = `${apis("provider", "v1alpha1")}/apiresourceschemas`;
      await insist(test, schemas, cowboySchema("tomorrow"));
      const permissionClaims = [{ group: "", resource: "configmaps", verbs: ["get"] }];
      const { resources } = cowboyExport("tomorrow").spec;
      await change(`${apis("provider")}/apiexports/cowboys`, { resources, permissionClaims });
      await until(test, "the workspace has followed", async () => {
        const list = await test.requestOk("GET", `${apis(cluster)}/apibindings`, masters);
        const text = JSON.stringify(list.items?.[0] ?? {});
        return (
          text.includes('"name":"tomorrow.cowboys.wildwest.dev"') &&
          text.includes('"state":"Accepted"') &&
          text.includes('"type":"PermissionClaimsApplied","status":"True"')
        );
      });
      await test.close();
    });
  }

  it("a server that restarts serves the APIs that were bound before", async () => {
    const storage = new MemoryStorage();
    const first = await TestServer.start({ storage });
    await insist(
      first,
      `${apis("provider", "v1alpha1")}/apiresourceschemas`,
      cowboySchema("today"),
    );
    await insist(first, `${apis("provider")}/apiexports`, cowboyExport("today"));
    await flushPendingWork(first);
    await insist(first, `${apis("consumer")}/apibindings`, bindingTo("provider"));
    await first.server.close();
    const second = await TestServer.start({ storage });
    const list = await second.requestOk(
      "GET",
      "/clusters/consumer/apis/wildwest.dev/v1alpha1/cowboys",
      masters,
    );
    assert.deepEqual(list.items, [] satisfies Entry[]);
    await second.close();
  });
});
