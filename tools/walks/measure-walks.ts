/**
 * How many files and functions of ours one request passes through.
 *
 * The server runs in a process of its own and is warm. A walk is made several times, and what every
 * one of these called counts: what the server's own loops do meanwhile is not part of a request.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { ApiClient } from "../bench/api-client.ts";
import { Child, endChildren } from "../bench/child.ts";
import type { CalledFunctions } from "./covered-server.ts";

/** What one request passes through, and how much that may be at most. */
export interface MeasuredWalk {
  readonly name: string;
  readonly filesMax: number;
  readonly functionsMax: number;
  readonly called: CalledFunctions;
}

interface Steps {
  readonly client: ApiClient;
  count(step: () => Promise<unknown>): Promise<CalledFunctions>;
}

interface Walk {
  readonly name: string;
  readonly filesMax: number;
  readonly functionsMax: number;
  /** Makes the walk once; what `count` is given is counted. */
  walk(steps: Steps, n: number): Promise<CalledFunctions>;
}

const warmUpRounds = 300;
const countedRounds = 12;
const token = "walks";

const namespacePath = "/clusters/root/api/v1/namespaces/default";
const configMapsPath = `${namespacePath}/configmaps`;
const widgetsPath = "/clusters/root/apis/walks.example.com/v1/namespaces/default/widgets";

const definitionsPath = "/clusters/root/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const number = { type: "integer" };
const widgetDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.walks.example.com" },
  spec: {
    group: "walks.example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: { min: number, max: number },
                "x-kubernetes-validations": [{ rule: "self.min <= self.max" }],
              },
            },
          },
        },
      },
    ],
  },
};

const walks: readonly Walk[] = [
  {
    name: "get of a ConfigMap",
    filesMax: 50,
    functionsMax: 150,
    walk: ({ client, count }) => count(() => client.must("GET", `${configMapsPath}/walk`)),
  },
  {
    name: "create of a custom resource with a rule",
    filesMax: 110,
    functionsMax: 450,
    walk: ({ client, count }, n) =>
      count(() => client.must("POST", widgetsPath, widget(`create-${n}`))),
  },
  { name: "watch with one event", filesMax: 70, functionsMax: 350, walk: watchWithOneEvent },
];

/**
 * A watch from its opening to its end. What the write that makes the event calls by itself is no
 * part of it; the get after its end is there to know that the server has noticed the end.
 */
async function watchWithOneEvent({ client, count }: Steps, n: number): Promise<CalledFunctions> {
  const write = (name: string) => client.must("POST", configMapsPath, configMap(name));
  const writing = await count(() => write(`unwatched-${n}`));
  let onEvent: ((line: string) => void) | undefined;
  const event = new Promise<string>((resolve) => {
    onEvent = resolve;
  });
  let close: (() => void) | undefined;
  const query = `watch=true&resourceVersion=0&fieldSelector=metadata.name%3Dwatched-${n}`;
  const opening = await count(async () => {
    close = await client.watch(`${configMapsPath}?${query}`, (line) => onEvent?.(line));
  });
  const telling = await count(async () => {
    await write(`watched-${n}`);
    await event;
  });
  const ending = await count(async () => {
    close?.();
    await client.must("GET", `${configMapsPath}/walk`);
  });
  return merged(merged(opening, without(telling, writing)), ending);
}

export function countsOf({ called }: MeasuredWalk): {
  readonly files: number;
  readonly functions: number;
} {
  const names = Object.values(called);
  return { files: names.length, functions: names.flat().length };
}

export async function measureWalks(): Promise<readonly MeasuredWalk[]> {
  const directory = mkdtempSync(join(tmpdir(), "kcp-walks-"));
  try {
    return await measureIn(directory);
  } finally {
    await endChildren();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measureIn(directory: string): Promise<readonly MeasuredWalk[]> {
  const server = startServer(directory);
  const { url } = JSON.parse(await server.line('"kcp is ready"')) as { url: string };
  const client = new ApiClient({ url, token });
  while ((await client.status("GET", "/readyz")) !== 200) await sleep(systemClock, 20);
  await client.must("POST", configMapsPath, configMap("walk"));
  await defineWidgets(client);
  const uncounted = async (step: () => Promise<unknown>) => {
    await step();
    return {};
  };
  for (const { walk } of walks)
    for (let n = 0; n < warmUpRounds; n++) await walk({ client, count: uncounted }, n);
  await ask(server, "start");
  const count = async (step: () => Promise<unknown>) => {
    await ask(server, "reset");
    await step();
    return ask(server, "read");
  };
  const measured: MeasuredWalk[] = [];
  for (const { walk, ...named } of walks) {
    let called: CalledFunctions | undefined;
    for (let n = warmUpRounds; n < warmUpRounds + countedRounds; n++) {
      const once = await walk({ client, count }, n);
      called = called === undefined ? once : inBoth(called, once);
    }
    measured.push({ ...named, called: called ?? {} });
  }
  client.close();
  await server.end();
  return measured;
}

function startServer(directory: string): Child {
  const tokenFile = join(directory, "tokens.csv");
  writeFileSync(tokenFile, `${token},walks,walks,"system:masters"\n`);
  const program = fileURLToPath(new URL("./covered-server.js", import.meta.url));
  const flags = [
    "start",
    ...["--storage", "memory"],
    ...["--root-directory", join(directory, "kcp")],
    ...["--bind-address", "127.0.0.1"],
    ...["--secure-port", "0"],
    ...["--token-auth-file", tokenFile],
    ...["--log-format", "json"],
  ];
  return new Child(process.execPath, [program, ...flags], { linesFrom: "stderr", hasInput: true });
}

async function defineWidgets(client: ApiClient): Promise<void> {
  await client.must("POST", definitionsPath, JSON.stringify(widgetDefinition));
  const isServed = async () => (await client.status("GET", widgetsPath)) === 200;
  while (!(await isServed())) await sleep(systemClock, 20);
}

async function ask(server: Child, command: "start" | "reset" | "read"): Promise<CalledFunctions> {
  server.say(command);
  const { called } = JSON.parse(await server.line('{"called":')) as { called: CalledFunctions };
  return called;
}

function inBoth(a: CalledFunctions, b: CalledFunctions): CalledFunctions {
  return select(a, (path, name) => b[path]?.includes(name) === true);
}

function without(a: CalledFunctions, b: CalledFunctions): CalledFunctions {
  return select(a, (path, name) => b[path]?.includes(name) !== true);
}

function merged(a: CalledFunctions, b: CalledFunctions): CalledFunctions {
  const paths = Object.keys({ ...a, ...b });
  return Object.fromEntries(
    paths.map((path) => [path, [...new Set([...(a[path] ?? []), ...(b[path] ?? [])])]]),
  );
}

function select(
  called: CalledFunctions,
  isWanted: (path: string, name: string) => boolean,
): CalledFunctions {
  const kept = Object.entries(called).map(
    ([path, names]) => [path, names.filter((name) => isWanted(path, name))] as const,
  );
  return Object.fromEntries(kept.filter(([, names]) => names.length > 0));
}

function configMap(name: string): string {
  const data = { key: "value" };
  return JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data });
}

function widget(name: string): string {
  return JSON.stringify({
    apiVersion: "walks.example.com/v1",
    kind: "Widget",
    metadata: { name },
    spec: { min: 1, max: 2 },
  });
}
