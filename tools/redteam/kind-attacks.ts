/** Objects of every kind that a workspace serves, filled by their schemas. */
import type { SeededRandom } from "@kcp-ts/testkit";
import {
  type Attack,
  accepts,
  anyJson,
  anySize,
  get,
  patch,
  post,
  type Step,
  times,
  watchAccepts,
} from "./attack.ts";
import type { OpenApiSchema, ServedKind } from "./served-kinds.ts";

/** What is left for an object: the limit of a body's bytes and values, nearly. */
interface Budget {
  values: number;
  bytes: number;
}

const depthMax = 12;

class ObjectGenerator {
  readonly #random: SeededRandom;
  readonly #kind: ServedKind;
  readonly #budget: Budget;

  constructor(random: SeededRandom, kind: ServedKind) {
    this.#random = random;
    this.#kind = kind;
    this.#budget = { values: anySize(random, 90_000), bytes: 2_500_000 };
  }

  object(name: string): object {
    const { apiVersion, kind, schema } = this.#kind;
    const made = this.#value(schema, "", 0) as Record<string, unknown>;
    return { ...made, apiVersion, kind, metadata: { ...this.#metadata(), name } };
  }

  #metadata(): object {
    const random = this.#random;
    const some = (count: number) => (random.chance(0.2) ? anySize(random, count) : 1);
    return {
      ...(random.chance(0.3)
        ? { labels: Object.fromEntries(times(some(2000), (i) => [`l${i}`, `v${i}`])) }
        : {}),
      ...(random.chance(0.2)
        ? { annotations: { a: "x".repeat(some(250_000)), b: anyJson(random, 5000).slice(0, 9000) } }
        : {}),
      ...(random.chance(0.1)
        ? {
            ownerReferences: times(some(1000), (i) => ({
              apiVersion: "v1",
              kind: "ConfigMap",
              name: `n${i}`,
              uid: `u${i}`,
            })),
          }
        : {}),
    };
  }

  #value(schema: OpenApiSchema, name: string, depth: number): unknown {
    this.#budget.values--;
    const { $ref, allOf } = schema;
    if ($ref !== undefined) return this.#value(this.#kind.resolve($ref), name, depth);
    if (allOf?.[0] !== undefined)
      return this.#value({ ...schema, ...allOf[0], allOf: [] }, name, depth);
    if (schema.enum?.[0] !== undefined)
      return this.#random.pick(schema.enum as [unknown, ...unknown[]]);
    if (schema["x-kubernetes-int-or-string"] === true)
      return this.#random.pick<unknown>([1, "50%"]);
    switch (schema.type) {
      case "string":
        return this.#string(schema, name);
      case "integer":
        return this.#random.pick([0, 1, 3, 100, -1, 2 ** 31 - 1]);
      case "number":
        return this.#random.next();
      case "boolean":
        return this.#random.chance(0.5);
      case "array":
        return times(this.#count(depth), () => this.#value(schema.items ?? {}, name, depth + 1));
      case "object":
        return this.#members(schema, name, depth);
      default:
        return this.#anything();
    }
  }

  #members(schema: OpenApiSchema, name: string, depth: number): object {
    const { properties, additionalProperties, required = [] } = schema;
    const members: Record<string, unknown> = {};
    if (properties !== undefined && depth < depthMax) {
      for (const [key, each] of Object.entries(properties)) {
        if (depth === 0 && ["apiVersion", "kind", "metadata"].includes(key)) continue;
        if (required.includes(key) || key === "spec" || this.#random.chance(0.5))
          members[key] = this.#value(each, key, depth + 1);
      }
    }
    if (typeof additionalProperties === "object") {
      for (let i = this.#count(depth); i > 0; i--)
        members[this.#key(i)] = this.#value(additionalProperties, name, depth + 1);
    }
    if (properties === undefined && additionalProperties === undefined && depth > 0)
      return { any: this.#anything() };
    return members;
  }

  #key(i: number): string {
    return this.#random.pick([`k${i}`, `example.com/k${i}`, `requests.k${i}`, `count/k${i}.apps`]);
  }

  /** A list or map is large in one of eight cases. */
  #count(depth: number): number {
    const left = Math.max(0, this.#budget.values);
    if (left === 0 || this.#budget.bytes < 1000) return 0;
    if (depth < depthMax && this.#random.chance(0.12))
      return Math.min(anySize(this.#random, left), 19_000);
    return Math.min(left, this.#random.integer(3));
  }

  #anything(): unknown {
    if (this.#budget.bytes < 100_000) return null;
    const text = anyJson(this.#random, Math.max(1, Math.min(this.#budget.values, 20_000)));
    this.#budget.bytes -= text.length;
    this.#budget.values -= Math.floor(text.length / 4);
    return JSON.parse(text);
  }

  #string({ format }: OpenApiSchema, name: string): string {
    const random = this.#random;
    const value = random.chance(0.01)
      ? random.pick(["x", "é世", "a,", "1", "a.b/"]).repeat(anySize(random, 250_000))
      : format === "date-time"
        ? "2026-01-01T00:00:00Z"
        : format === "byte"
          ? Buffer.from("x".repeat(anySize(random, 1000))).toString("base64")
          : textOf(random, name);
    this.#budget.bytes -= value.length * 3;
    return this.#budget.bytes < 0 ? "" : value;
  }
}

/** A text that the field of this name accepts, most of the time. */
function textOf(random: SeededRandom, name: string): string {
  if (/expression|rule$/i.test(name)) return random.pick(["true", "object.spec == object.spec"]);
  if (/operator/i.test(name)) return random.pick(["In", "Exists", "NotIn"]);
  if (/namespace/i.test(name)) return "default";
  if (/apiGroup/i.test(name)) return random.pick(["", "apps", "rbac.authorization.k8s.io"]);
  if (/version/i.test(name)) return random.pick(["v1", "v1alpha1", "*"]);
  if (/verb/i.test(name)) return random.pick(["get", "*", "create"]);
  if (/resource/i.test(name)) return random.pick(["configmaps", "*", "secrets/status"]);
  if (/kind/i.test(name)) return random.pick(["User", "ClusterRole", "ConfigMap", "Group"]);
  if (/path/i.test(name)) return random.pick(["root", "root:t0", "/api", ".spec.a"]);
  return random.pick([`n${random.integer(30_000)}`, "a", "1", "root", "k=v"]);
}

/** An object of any kind, filled by its schema. */
export function objectOf(random: SeededRandom, kind: ServedKind, name: string): object {
  return new ObjectGenerator(random, kind).object(name);
}

const listed = (random: SeededRandom, path: string): Step[] =>
  accepts.filter(() => random.chance(0.3)).map((accept) => get(path, accept));

const served: Attack = {
  name: "objects of every kind",
  *steps({ random, kinds }) {
    const kind = random.pick(kinds as [ServedKind, ...ServedKind[]]);
    const { path } = kind;
    if (random.chance(0.3)) yield { ...watched(random, path), isWatched: true };
    const made = (name: string) => objectOf(random, kind, name);
    const count = 1 + random.integer(4);
    let last = "";
    for (let i = 0; i < count; i++) {
      const query = random.pick(["", "", "?dryRun=All", "?fieldValidation=Strict"]);
      const { status, text } = yield post(path + query, made(`o${i}`));
      // A refusal has no object to change; a smaller one may be accepted.
      if (status === 201 && query !== "?dryRun=All")
        last = /"metadata":\{"name":"([^"]+)"/.exec(text)?.[1] ?? `o${i}`;
    }
    yield patch(`${path}/p?fieldManager=m&force=true`, "apply-patch+yaml", made("p"));
    if (last !== "") {
      const at = `${path}/${last}`;
      for (const type of ["merge-patch+json", "strategic-merge-patch+json"] as const)
        if (random.chance(0.5)) yield patch(at, type, made(last));
      yield patch(`${at}?fieldManager=n&force=true`, "apply-patch+yaml", made(last));
      if (random.chance(0.4)) yield patch(`${at}/status`, "merge-patch+json", made(last));
      yield { ...post(at, made(last)), method: "PUT" };
      yield get(at, random.pick<string>(accepts));
      yield { method: "DELETE", path: `${at}?propagationPolicy=Foreground` };
    }
    yield* listed(random, path);
    yield {
      method: "DELETE",
      path: `${path}${random.pick(["", "?labelSelector=l1", "?dryRun=All"])}`,
    };
  },
};

function watched(random: SeededRandom, path: string): Step {
  const query = random.pick([
    "",
    "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    "&labelSelector=l1%3Dv1",
  ]);
  return get(`${path}?watch=true&timeoutSeconds=60${query}`, random.pick<string>(watchAccepts));
}

export const kindAttacks: readonly Attack[] = [served];
