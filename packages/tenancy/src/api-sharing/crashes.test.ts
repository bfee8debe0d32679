/**
 * Goal: a server that crashes in the middle of any operation on several objects leaves a state from
 * which the next server reaches the same result.
 *
 * Method: every write is a crash. The store accepts nothing from the N-th write on, as if the
 * process had ended; then another server starts on the stored state, the client retries the
 * requests without a successful response, and the result has to be the same, for every N until
 * there is no such write.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Storage, StorageError, type StorageKey } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import type { AnyObject, TestResponse } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../testing/index.ts";
import {
  apis,
  bind,
  binding,
  cowboy,
  cowboyExport,
  cowboySchema,
  flushPendingWork,
  offer,
  until,
} from "./test-support/cowboys.ts";

const masters = { user: "masters" } as const;
const cowboys = "/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys";
const configMaps = "/api/v1/namespaces/default/configmaps";
const view = (path: string) => `/services/apiexport/provider/cowboys/clusters/*${path}`;
const workspaces = "/apis/tenancy.kcp.io/v1alpha1/workspaces";

interface Trouble {
  readonly name: string;
  readonly prepare: (test: TestServer) => Promise<void>;
  /** The requests of a client, which are sent again when the server was down. */
  readonly strike: (test: TestServer) => Promise<readonly TestResponse[]>;
  readonly hasEnded: (test: TestServer) => Promise<boolean>;
  /** A minimum of writes, so that a run without a crash does not pass as a success. */
  readonly writesMin: number;
}

/** A store that accepts nothing from the N-th write on, counted from when it is armed. */
class BreakingStore {
  readonly storage: Storage;
  isBroken = false;
  #left = Number.POSITIVE_INFINITY;

  constructor(inner: MemoryStorage) {
    this.storage = new Proxy(inner, {
      get: (target, name) => {
        const value = Reflect.get(target, name, target) as unknown;
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (name === "commit" && --this.#left <= 0) {
            this.isBroken = true;
            throw new StorageError("unavailable", "the process is gone");
          }
          return value.apply(target, args) as unknown;
        };
      },
    }) as unknown as Storage;
  }

  breakAt(write: number): void {
    this.#left = write;
  }
}

const post = (test: TestServer, path: string, body: object) =>
  test.request("POST", path, { ...masters, body });

async function makeNamespaces(test: TestServer): Promise<void> {
  for (const cluster of ["consumer", "provider"])
    await post(test, `/clusters/${cluster}/api/v1/namespaces`, { metadata: { name: "default" } });
}

interface Told {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  readonly boundResources?: readonly { readonly schema: { readonly name: string } }[];
}

const isTrue = (object: AnyObject, type: string) =>
  ((object["status"] ?? {}) as Told).conditions?.some(
    (one) => one.type === type && one.status === "True",
  ) === true;

async function bindingIs(test: TestServer, type: string, name = "cowboys"): Promise<boolean> {
  return isTrue(await binding(test, "consumer", name), type);
}

async function bound(test: TestServer): Promise<void> {
  await makeNamespaces(test);
  await offer(test, "provider", {
    permissionClaims: [{ group: "", resource: "configmaps", verbs: ["*"] }],
  });
  await bind(test, "consumer", "provider");
  await until(test, "it is bound", () => bindingIs(test, "InitialBindingCompleted"));
  await test.requestOk("POST", `/clusters/consumer${cowboys}`, {
    ...masters,
    body: cowboy("kept"),
  });
}

const claim = (state: string) => ({
  group: "",
  resource: "configmaps",
  verbs: ["*"],
  state,
  selector: { matchAll: true },
});

async function seenByProvider(test: TestServer, path: string): Promise<string> {
  const answer = await test.get(view(path), masters);
  return answer.status === 200 ? answer.names.sort().join() : String(answer.status);
}

const syncErrors: readonly Trouble[] = [
  {
    name: "a binding goes, and another one has waited for its name",
    prepare: async (test) => {
      await bound(test);
      await offer(test, "other");
      await bind(test, "consumer", "other", "second");
      assert.equal(await bindingIs(test, "InitialBindingCompleted", "second"), false);
    },
    strike: async (test) => [
      await test.request("DELETE", `${apis("consumer")}/apibindings/cowboys`, masters),
    ],
    hasEnded: async (test) =>
      (await test.get(`${apis("consumer")}/apibindings/cowboys`, masters)).status === 404 &&
      (await bindingIs(test, "InitialBindingCompleted", "second")) &&
      (await test.get(`/clusters/consumer${cowboys}`, masters)).items.length === 0,
    writesMin: 4,
  },
  {
    name: "an export vanishes under its bindings, and comes back",
    prepare: bound,
    strike: async (test) => [
      await test.request("DELETE", `${apis("provider")}/apiexports/cowboys`, masters),
      await post(test, `${apis("provider")}/apiexports`, cowboyExport("today")),
    ],
    hasEnded: async (test) =>
      (await bindingIs(test, "APIExportValid")) &&
      (await seenByProvider(test, "/apis/wildwest.dev/v1alpha1/cowboys")) === "kept",
    writesMin: 3,
  },
  {
    name: "an export gets a schema that its stored objects do not meet",
    prepare: bound,
    strike: async (test) => {
      const schema = cowboySchema("tomorrow", { intent: { type: "string", maxLength: 1 } });
      const { resources } = cowboyExport("tomorrow").spec;
      const path = `${apis("provider")}/apiexports/cowboys`;
      return [
        await post(test, `${apis("provider", "v1alpha1")}/apiresourceschemas`, schema),
        await test.patch(path, "merge", { spec: { resources } }, masters),
      ];
    },
    hasEnded: async (test) => {
      const found = await binding(test, "consumer");
      const { boundResources = [] } = found["status"] as Told;
      const kept = await test.get(`/clusters/consumer${cowboys}/kept`, masters);
      return (
        isTrue(found, "BindingUpToDate") &&
        boundResources[0]?.schema.name === "tomorrow.cowboys.wildwest.dev" &&
        kept.status === 200 &&
        (await post(test, `/clusters/consumer${cowboys}`, cowboy("long"))).status === 422
      );
    },
    writesMin: 4,
  },
  {
    name: "a claim is accepted after the fact",
    prepare: async (test) => {
      await bound(test);
      for (const name of ["one", "two", "three"])
        await post(test, `/clusters/consumer${configMaps}`, { metadata: { name } });
    },
    strike: async (test) => {
      const spec = { permissionClaims: [claim("Accepted")] };
      const path = `${apis("consumer")}/apibindings/cowboys`;
      return [await test.patch(path, "merge", { spec }, masters)];
    },
    hasEnded: async (test) =>
      (await bindingIs(test, "PermissionClaimsApplied")) &&
      (await seenByProvider(test, "/api/v1/configmaps")) === "one,three,two",
    writesMin: 4,
  },
  {
    name: "a workspace is deleted that has others below it",
    prepare: async (test) => {
      await test.server.bootstrap("https://kcp.example.com");
      const type = { name: "universal", path: "root" };
      for (const [parent, name] of [
        ["root", "w"],
        ["root:w", "a"],
        ["root:w:a", "b"],
      ] as const)
        await test.requestOk("POST", `/clusters/${parent}${workspaces}`, {
          ...masters,
          body: { metadata: { name }, spec: { type } },
        });
      await post(test, `/clusters/root:w:a:b${configMaps}`, { metadata: { name: "deep" } });
    },
    strike: async (test) => [
      await test.request("DELETE", `/clusters/root${workspaces}/w`, masters),
    ],
    // No object of the workspaces remains: the stored objects belong to root.
    hasEnded: async (test) => {
      const signal = new AbortController().signal;
      const { entries } = await test.storage.list("/" as StorageKey, {
        signal,
        entriesMax: 10_000,
      });
      return entries.every(({ key }) => key.split("/")[4] === "root");
    },
    writesMin: 6,
  },
];

/** More writes than any scenario needs: a controller that writes without end fails the test. */
const writesMax = 80;

/** Whether the store failed before everything was done. */
async function crashed(syncError: Trouble, memory: MemoryStorage, at: number): Promise<boolean> {
  const store = new BreakingStore(memory);
  const broken = await TestServer.start({ storage: store.storage });
  await syncError.prepare(broken);
  for (let turn = 0; turn < 5; turn++) await passTime(broken);
  store.breakAt(at);
  await syncError.strike(broken);
  for (let turn = 0; turn < 10 && !store.isBroken; turn++) await passTime(broken);
  await broken.server.close();
  return store.isBroken;
}

async function passTime(test: TestServer): Promise<void> {
  await flushPendingWork(test);
  test.clock.advance(200);
}

describe("a server that crashes in the middle", () => {
  for (const syncError of syncErrors) {
    it(`${syncError.name}: it ends as if nothing had been, whichever write was the last`, async () => {
      let crashes = 0;
      for (let at = 1; ; at++) {
        assert.ok(at < writesMax, `it is not done after ${at} writes`);
        const memory = new MemoryStorage();
        if (!(await crashed(syncError, memory, at))) break;
        crashes++;
        const test = await TestServer.start({ storage: memory });
        for (const { status } of await syncError.strike(test))
          assert.ok(status < 300 || status === 404 || status === 409, `at write ${at}: ${status}`);
        await until(test, `it has ended after a crash at write ${at}`, () =>
          syncError.hasEnded(test),
        );
        await test.close();
      }
      assert.ok(crashes >= syncError.writesMin, `only ${crashes} writes were crashes`);
    });
  }
});
