/**
 * For tests: a control plane as `kcp start` runs it, with its socket, and requests to it as any
 * user.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  type ControlPlane,
  type ControlPlaneOptions,
  controlPlaneDefaults,
  createLog,
  startControlPlane,
} from "@kcp-ts/controlplane";
import type { JsonObject } from "@kcp-ts/machinery/json";

export interface RawRequestOptions {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly method?: string;
  readonly body?: object;
}

export interface StartedControlPlane {
  readonly plane: ControlPlane;
  readonly rootDirectory: string;
  /** What was written to the log, a line each. */
  readonly lines: readonly string[];
  /** Of a user of the admin kubeconfig. */
  tokenOf(user: string): Promise<string>;
  ask(
    path: string,
    how?: RawRequestOptions,
  ): Promise<{ readonly status: number; readonly body: JsonObject }>;
}

/** In memory, by default without controllers; stopped when the test is over. */
export async function startControlPlaneWithFlags(
  t: TestContext,
  options: Partial<ControlPlaneOptions> = {},
): Promise<StartedControlPlane> {
  const rootDirectory = await mkdtemp(join(tmpdir(), "kcp-started-"));
  const lines: string[] = [];
  t.after(() => rm(rootDirectory, { recursive: true, force: true }));
  const plane = await startControlPlane(
    {
      ...controlPlaneDefaults,
      storage: { kind: "memory" },
      controllers: false,
      physicalClusters: undefined,
      rootDirectory,
      bindAddress: "127.0.0.1",
      securePort: 0,
      ...options,
    },
    { log: createLog({ format: "json", verbosity: 2, write: (line) => lines.push(line) }) },
  );
  t.after(() => plane.stop());
  return {
    plane,
    rootDirectory,
    lines,
    tokenOf: async (user) => tokenIn(await readFile(plane.kubeconfigPath, "utf8"), user),
    ask: (path, how = {}) => send(`${plane.url}${path}`, how),
  };
}

/** Of a kubeconfig as we write it: the token stands two lines below the name. */
function tokenIn(kubeconfig: string, user: string): string {
  const users = kubeconfig.slice(kubeconfig.indexOf("\nusers:"));
  const found = new RegExp(`- name: "${user}"\n {2}user:\n {4}token: "([^"]+)"`).exec(users);
  if (found?.[1] === undefined) throw new Error(`${user} is not in the kubeconfig`);
  return found[1];
}

function send(
  url: string,
  { token, cert, key, headers = {}, method = "GET", body }: RawRequestOptions,
): Promise<{ status: number; body: JsonObject }> {
  return new Promise((resolve, reject) => {
    const call = request(url, {
      method,
      agent: false,
      rejectUnauthorized: false,
      ...(cert === undefined ? {} : { cert, key }),
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(headers as Record<string, string | string[]>),
      },
    });
    call.on("error", reject);
    call.on("response", (response) => {
      const status = response.statusCode ?? 0;
      bodyOf(response).then((body) => resolve({ status, body }), reject);
    });
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function bodyOf(response: IncomingMessage): Promise<JsonObject> {
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString("utf8");
  return text.startsWith("{") ? JSON.parse(text) : { text };
}
