/**
 * Two tenants in one store: cluster b is full of objects with names that cluster a has, too, and
 * others.
 */
import assert from "node:assert/strict";
import type { Entry, StorageKey } from "@kcp-ts/apiserver/storage";
import {
  collectionPath,
  type SampleKind,
  sampleObject,
  type TestServer,
} from "@kcp-ts/apiserver/testing";
import { allKinds } from "./sample-kinds.ts";

/** A text in every label and value of cluster b, and nowhere in cluster a. */
export const secretOfB = "bbbsecretbbb";
export const common = "shared";
export const onlyInB = `${secretOfB}-name`;

export async function fillTwoTenants(server: TestServer): Promise<void> {
  for (const [cluster, names] of [
    ["a", [common]],
    ["b", [common, onlyInB, `${secretOfB}-2`]],
  ] as const) {
    const value = cluster === "b" ? secretOfB : "value-of-a";
    const marked = (sample: SampleKind, name: string, namespace: string) => ({
      ...sampleObject(sample, name, namespace),
      ...sample.body(value, namespace),
      metadata: {
        name,
        finalizers: cluster === "b" ? ["example.com/hold"] : [],
        labels: { owner: cluster === "b" ? secretOfB : "a" },
      },
    });
    const create = (sample: SampleKind, name: string, namespace: string) =>
      server.requestOk("POST", `/clusters/${cluster}${collectionPath(sample, namespace)}`, {
        body: marked(sample, name, namespace),
      });
    for (const name of names) await create(namespaces, name, "");
    for (const sample of others) {
      for (const name of names) {
        const within = sample.isNamespaced ? names : [""];
        for (const namespace of within) await create(sample, name, namespace);
      }
    }
    await settled(server, cluster);
  }
}

/**
 * Waits for the status of policies and of PartitionSets, which the server writes soon after their
 * creation.
 */
async function settled(server: TestServer, cluster: string): Promise<void> {
  const { partitionSets, policies } = settledPaths;
  await untilEach(
    server,
    `/clusters/${cluster}${policies}`,
    (status) => "observedGeneration" in status,
  );
  await untilEach(server, `/clusters/${cluster}${partitionSets}`, (status) => "count" in status);
}

const settledPaths = {
  policies: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
  partitionSets: "/apis/topology.kcp.io/v1alpha1/partitionsets",
} as const;

async function untilEach(
  server: TestServer,
  path: string,
  isSettled: (status: object) => boolean,
): Promise<void> {
  for (;;) {
    const { items } = (await server.get(path)).object as { items: readonly { status?: object }[] };
    if (items.every(({ status = {} }) => isSettled(status))) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const namespaces = allKinds.find(({ kind }) => kind === "Namespace") as SampleKind;
/**
 * Events are one collection under two groups: an object that is created through one group exists in
 * the other.
 */
const others = allKinds.filter(
  ({ kind, base }) => kind !== "Namespace" && base !== "/apis/events.k8s.io/v1",
);

/** All entries of cluster b in the store. */
export async function stateOfB({ storage }: TestServer): Promise<string> {
  const { signal } = new AbortController();
  const page = await storage.list("/" as StorageKey, { signal, entriesMax: 100_000 });
  const ofB = page.entries.filter(({ key }) => key.split("/")[4] === "b");
  const kept = others.map(({ isNamespaced }) => (isNamespaced ? 9 : 3));
  assert.equal(
    ofB.length,
    kept.reduce<number>((sum, count) => sum + count, 3),
  );
  return ofB.map((entry: Entry) => `${entry.key} ${entry.modifiedAt} ${text(entry)}`).join("\n");
}

function text({ value }: Entry): string {
  return Buffer.from(value).toString("utf8");
}
