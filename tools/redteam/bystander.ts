/**
 * Another tenant, whose objects no attack may change: built-in, native and custom ones. They are
 * compared before and after the attacks, and a watch of each kind reports changes in between.
 */
import { createHash } from "node:crypto";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { anyObject, definitionOfKind } from "@kcp-ts/machinery/schema";
import type { ApiClient } from "../bench/api-client.ts";
import { definition, definitionsPath } from "../bench/hold-case.ts";

interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly path: string;
  readonly content: (i: number) => object;
}

const labels = { app: "b" };
const inDefault = "namespaces/default";

const kinds: readonly Kind[] = [
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    path: `/api/v1/${inDefault}/configmaps`,
    content: (i) => ({ data: { i: String(i) } }),
  },
  {
    apiVersion: "v1",
    kind: "Secret",
    path: `/api/v1/${inDefault}/secrets`,
    content: (i) => ({ stringData: { i: String(i) } }),
  },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    path: `/apis/apps/v1/${inDefault}/deployments`,
    content: (i) => ({
      spec: {
        replicas: i,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
      },
    }),
  },
  {
    apiVersion: "bystander.example.com/v1",
    kind: "Thing",
    path: "/apis/bystander.example.com/v1/things",
    content: (i) => ({ "0": { metadata: { name: `c${i}` } }, spec: { i } }),
  },
];

const definitions = [
  definitionOfKind({
    group: "bystander.example.com",
    version: "v1",
    kind: "Thing",
    resource: "things",
    schema: anyObject(),
  }),
  {
    ...definition({
      group: "apps",
      plural: "deployments",
      schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      spec: { names: { plural: "deployments", singular: "deployment", kind: "Deployment" } },
    }),
    metadata: {
      name: "deployments.apps",
      annotations: {
        "api-approved.kubernetes.io": "unapproved, for an attack",
        "workload.kcp.io/native-kind": "true",
      },
    },
  },
];

const objectsPerKind = 20;
const watchSeconds = 20;

export class Bystander {
  readonly #client: ApiClient;
  readonly #base: string;
  readonly #watches: Promise<void>[] = [];
  readonly #changes: string[] = [];
  #before = "";
  #isStopped = false;

  constructor(client: ApiClient, workspace: string) {
    this.#client = client;
    this.#base = `/clusters/${workspace}`;
  }

  async start(): Promise<void> {
    for (const each of definitions)
      await this.#client.must("POST", this.#base + definitionsPath, JSON.stringify(each));
    for (const { apiVersion, kind, path, content } of kinds) {
      while ((await this.#client.status("GET", this.#base + path)) !== 200)
        await sleep(systemClock, 10);
      for (let i = 0; i < objectsPerKind; i++) {
        const finalizers = i === 0 ? ["example.com/kept"] : [];
        const object = { apiVersion, kind, metadata: { name: `b${i}`, finalizers }, ...content(i) };
        await this.#client.must("POST", this.#base + path, JSON.stringify(object));
      }
    }
    const lists = await this.#lists();
    this.#before = hashOf(lists);
    for (const [i, { path }] of kinds.entries())
      this.#watches.push(this.#watch(path, (lists[i] as List).metadata.resourceVersion));
  }

  /** The changes that the watches reported, or the difference that they missed. */
  async end(): Promise<readonly string[]> {
    const after = hashOf(await this.#lists());
    this.#isStopped = true;
    await Promise.all(this.#watches);
    if (after !== this.#before) this.#changes.push("the objects differ, as lists show them");
    return this.#changes;
  }

  async #watch(path: string, from: string): Promise<void> {
    let resourceVersion = from;
    while (!this.#isStopped) {
      const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=${watchSeconds}`;
      const { body } = await this.#client.request(
        "GET",
        `${this.#base}${path}?${query}&resourceVersion=${resourceVersion}`,
      );
      for (const line of body.toString("utf8").split("\n")) {
        if (line === "") continue;
        const { type, object } = JSON.parse(line) as WatchEvent;
        resourceVersion = object.metadata.resourceVersion ?? resourceVersion;
        if (type === "BOOKMARK" || !isOwn(object)) continue;
        this.#changes.push(`${type} of ${path}: ${line.slice(0, 300)} … ${line.slice(-500)}`);
        if (type === "ERROR") return;
      }
    }
  }

  async #lists(): Promise<readonly List[]> {
    const lists: List[] = [];
    for (const { path } of kinds) {
      const text = await this.#client.must("GET", this.#base + path);
      lists.push(JSON.parse(text.toString("utf8")) as List);
    }
    return lists;
  }
}

interface Metadata {
  readonly name?: string;
  readonly resourceVersion?: string;
}

interface WatchEvent {
  readonly type: string;
  readonly object: { readonly metadata: Metadata };
}

interface List {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly WatchEvent["object"][];
}

/** Controllers of the server add objects of their own; a Status has no name. */
function isOwn({ metadata: { name } }: WatchEvent["object"]): boolean {
  return name === undefined || /^b\d+$/.test(name);
}

function hashOf(lists: readonly List[]): string {
  const hash = createHash("sha256");
  for (const { items } of lists) hash.update(JSON.stringify(items.filter(isOwn)));
  return hash.digest("hex");
}
