/**
 * Two tenants in one store: cluster b is full of objects with names that cluster a has, too, and others.
 */
import assert from "node:assert/strict";
import type { Entry, StorageKey } from "../storage/index.ts";
import type { TestServer } from "./test-server.ts";

/** Stands in every label and value of cluster b, and nowhere in cluster a. */
export const secretOfB = "bbbsecretbbb";
export const common = "shared";
export const onlyInB = `${secretOfB}-name`;

export async function fillTwoTenants(server: TestServer): Promise<void> {
  for (const [cluster, names] of [
    ["a", [common]],
    ["b", [common, onlyInB, `${secretOfB}-2`]],
  ] as const) {
    const base = `/clusters/${cluster}/api/v1`;
    const marked = (kind: string, name: string) => ({
      kind,
      apiVersion: "v1",
      metadata: {
        name,
        finalizers: cluster === "b" ? ["example.com/hold"] : [],
        labels: { owner: cluster === "b" ? secretOfB : "a" },
      },
    });
    const value = cluster === "b" ? secretOfB : "value-of-a";
    for (const namespace of names) {
      await server.must("POST", `${base}/namespaces`, { body: marked("Namespace", namespace) });
      for (const name of names) {
        const path = `${base}/namespaces/${namespace}`;
        const data = { k: value };
        await server.must("POST", `${path}/configmaps`, {
          body: { ...marked("ConfigMap", name), data },
        });
        await server.must("POST", `${path}/secrets`, {
          body: { ...marked("Secret", name), stringData: data },
        });
      }
    }
  }
}

/** Everything of cluster b, as the store has it. */
export async function stateOfB({ storage }: TestServer): Promise<string> {
  const { signal } = new AbortController();
  const page = await storage.list("/" as StorageKey, { signal, entriesMax: 100_000 });
  const ofB = page.entries.filter(({ key }) => key.split("/")[4] === "b");
  assert.equal(ofB.length, 3 + 9 + 9);
  return ofB.map((entry: Entry) => `${entry.key} ${entry.modifiedAt} ${text(entry)}`).join("\n");
}

function text({ value }: Entry): string {
  return Buffer.from(value).toString("utf8");
}
