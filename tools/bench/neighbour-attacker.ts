/**
 * A tenant that sends as fast as it can, until it is ended. A program of its own.
 *
 *     neighbour-attacker.js <url of the logical cluster> <token> <attack> <how many>
 *
 * Attacks are those of `options.ts`. Prints `attacking` when all is under way, and for each line of
 * stdin `open <n>`: how many watches are open now. Refusals are what it wants to provoke: they
 * count as answers. It runs at a lower priority than everybody else in the benchmark, because in
 * earnest it has a machine of its own.
 */
import { type ClientHttp2Session, connect } from "node:http2";
import { constants, getPriority, setPriority } from "node:os";
import { createInterface } from "node:readline";
import { systemClock } from "@kcp-ts/machinery/base";
import { openingMaxMs } from "./abuse-budget.ts";
import { widgetsPath } from "./crd-definitions.ts";
import { configMap, configMapsPath } from "./objects.ts";

const [urlText = "", token = "", kind, countText] = process.argv.slice(2);
const url = new URL(urlText);
const count = Number(countText);
const path = url.pathname + configMapsPath("default");
const streamsPerConnection = 250;
setPriority(Math.min(getPriority() + 12, constants.priority.PRIORITY_LOW));
process.on("SIGTERM", () => process.exit(0));

const sessions: ClientHttp2Session[] = [];
let answered = 0;
let open = 0;
let hasSaid = false;
createInterface({ input: process.stdin }).on("line", () => console.log(`open ${open}`));

if (kind === "openings") {
  for (let i = 0; i < count; i++) reopen(sessionOf(i));
} else if (kind === "watches") {
  for (let i = 0; i < count; i++) watch(sessionOf(i));
  systemClock.schedule(openingMaxMs, begin);
} else {
  const attack = attackOf(kind ?? "");
  for (let i = 0; i < count; i++) again(sessionOf(i), attack);
}

interface Attack {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly accept?: string;
  readonly body?: string;
  readonly contentType?: string;
}

function attackOf(name: string): () => Attack {
  const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
  if (name === "writes") return () => post(configMap());
  if (name === "bodies" || name === "largest-bodies") {
    const big = name === "bodies" ? bigBody(900 << 10, 80) : bigBody(3_000_000, 150);
    return () => post(big);
  }
  if (name === "yaml-bodies") {
    const dense = yamlBody(500 << 10);
    return () => ({ ...post(dense), contentType: "application/yaml" });
  }
  if (name === "lists") return () => ({ method: "GET", path });
  if (name === "custom-lists") return () => ({ method: "GET", path: url.pathname + widgetsPath });
  return () => ({ method: "GET", path, accept: table });
}

function post(body: string): Attack {
  return { method: "POST", path, body };
}

/** Many keys, because they cost more than long values do. */
function bigBody(bytes: number, valueBytes: number): string {
  const data: Record<string, string> = {};
  for (let i = 0; i < bytes / (valueBytes + 20); i++) data[`key-${i}`] = "v".repeat(valueBytes);
  const metadata = { generateName: "big-" };
  return JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata, data });
}

/** The shortest keys and values: what takes longest to read is how many there are. */
function yamlBody(bytes: number): string {
  const lines = ["apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: dense-}\ndata:\n"];
  for (let length = 0, i = 0; length < bytes; length += lines.at(-1)?.length ?? 0)
    lines.push(`  k${i++}: v\n`);
  return lines.join("");
}

function sessionOf(at: number): ClientHttp2Session {
  const index = Math.floor(at / streamsPerConnection);
  const session =
    sessions[index] ??
    connect(url.origin, { rejectUnauthorized: false, settings: { initialWindowSize: 1 << 20 } });
  sessions[index] = session;
  session.setMaxListeners(0);
  session.on("error", () => process.exit(1));
  return session;
}

function again(session: ClientHttp2Session, next: () => Attack): void {
  if (session.destroyed || session.closed) throw new Error("the server closed a connection");
  const { method, path: target, accept, body, contentType = "application/json" } = next();
  const stream = session.request({
    ":method": method,
    ":path": target,
    authorization: `Bearer ${token}`,
    ...(accept === undefined ? {} : { accept }),
    ...(body === undefined ? {} : { "content-type": contentType }),
  });
  stream.on("error", () => undefined);
  stream.on("close", () => {
    if (++answered === 1) say();
    again(session, next);
  });
  stream.resume();
  stream.end(body);
}

/**
 * From now on; what is already there would be a list. One that is refused or ended comes again, as
 * clients do.
 */
function watch(session: ClientHttp2Session): void {
  const stream = session.request({
    ":path": `${path}?watch=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=false`,
    authorization: `Bearer ${token}`,
  });
  let isOpen = false;
  stream.on("error", () => undefined);
  stream.on("response", ({ ":status": status }) => {
    isOpen = status === 200;
    if (isOpen && ++open === count) begin();
  });
  stream.on("close", () => {
    if (isOpen) open--;
    systemClock.schedule(1000, () => watch(session));
  });
  stream.resume();
}

/** All watches are open at once, or have had time for it: now something happens in them. */
function begin(): void {
  if (hasSaid) return;
  say();
  for (let i = 0; i < 4; i++) again(sessionOf(0), () => post(configMap()));
}

function say(): void {
  hasSaid = true;
  console.log("attacking");
}

/** A watch that is given up as soon as it is open, and opened again. */
function reopen(session: ClientHttp2Session): void {
  const stream = session.request({
    ":path": `${path}?watch=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=false`,
    authorization: `Bearer ${token}`,
  });
  stream.on("error", () => undefined);
  stream.on("response", () => {
    if (++answered === 1) say();
    stream.close();
  });
  stream.on("close", () => systemClock.schedule(1000, () => reopen(session)));
  stream.resume();
}
