/** Goal: `kubectl kcp move workspace` moves workspaces between shards, and says how it went. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { authorizationOf, ListeningServer } from "@kcp-ts/apiserver/testing";
import { startTestShards, type TestShards } from "../testing/index.ts";

const program = fileURLToPath(new URL("../../../cli/bin/kubectl-kcp.mjs", import.meta.url));
const workspaces = (parent: string) =>
  `/clusters/${parent}/apis/tenancy.kcp.io/v1alpha1/workspaces`;
const maps = (path: string) => `/clusters/${path}/api/v1/namespaces/default/configmaps`;

interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe("kubectl kcp move workspace", () => {
  let shards: TestShards;
  let door: ListeningServer;
  let folder: string;
  let time: NodeJS.Timeout;

  before(async () => {
    shards = await startTestShards({ names: ["root", "b"], readsEndMs: 0 });
    const root = shards.get("root");
    door = await ListeningServer.start({ wrap: (request) => root.server.handle(request) });
    // The clocks of the shards go on while another process talks to them.
    time = setInterval(() => {
      for (const name of ["root", "b"]) shards.get(name).clock.advance(20);
    }, 20);
    folder = await mkdtemp(join(tmpdir(), "kcp-move-"));
    const token = authorizationOf("admin")["authorization"]?.slice("Bearer ".length);
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        {
          name: "kcp",
          cluster: {
            server: `https://127.0.0.1:${door.port}/clusters/root`,
            "certificate-authority-data": Buffer.from(door.ca).toString("base64"),
          },
        },
      ],
      users: [{ name: "admin", user: { token } }],
      contexts: [{ name: "kcp", context: { cluster: "kcp", user: "admin" } }],
      "current-context": "kcp",
    };
    await writeFile(join(folder, "kubeconfig"), JSON.stringify(config));
    const shardB = "/clusters/root/apis/core.kcp.io/v1alpha1/shards/b";
    await shards.until("b is known", async () => (await root.get(shardB)).status === 200);
  });
  after(async () => {
    clearInterval(time);
    await door.close();
    await shards.close();
    await rm(folder, { recursive: true, force: true });
  });

  const kcp = (...args: readonly string[]): Promise<Result> =>
    new Promise((resolve) => {
      const env = { ...process.env, KUBECONFIG: join(folder, "kubeconfig"), HOME: folder };
      execFile(process.execPath, [program, ...args], { env }, (error, stdout, stderr) => {
        const code = error === null ? 0 : Number((error as { code?: unknown }).code ?? -1);
        resolve({ code, stdout, stderr });
      });
    });

  async function make(parent: string, name: string): Promise<void> {
    const root = shards.get("root");
    const spec = { location: { selector: { matchLabels: { name: "root" } } } };
    const path = `${workspaces(parent)}/${name}`;
    await root.requestOk("POST", workspaces(parent), { body: { metadata: { name }, spec } });
    await shards.until("it is ready", async () => {
      const { phase } = (await root.get(path)).object["status"] as { phase?: string };
      return phase === "Ready";
    });
  }

  it("moves a workspace, and says for how long writes waited", async () => {
    await make("root", "org");
    const root = shards.get("root");
    await root.requestOk("POST", maps("root:org"), { body: { metadata: { name: "one" } } });
    const moved = await kcp("move", "workspace", "root:org", "--to-shard", "b", "--wait");
    assert.equal(moved.code, 0, moved.stderr);
    assert.match(moved.stdout, /root:org moved from root to b; writes waited for \d+ ms\n$/);
    assert.deepEqual((await shards.get("b").get(maps("root:org"))).names, ["one"]);
    const again = await kcp("move", "workspace", "org", "--to-shard", "b", "--wait");
    assert.equal(again.stdout, "root:org is on b already\n", again.stderr);
  });

  it("moves a subtree, parents first, and prints it as JSON", async () => {
    await make("root", "tree");
    await make("root:tree", "leaf");
    const moved = await kcp("move", "ws", "tree", "--to-shard", "b", "--subtree", "-o", "json");
    assert.equal(moved.code, 0, moved.stderr);
    const found = (JSON.parse(moved.stdout) as { path: string; stage: string; to: string }[]).map(
      ({ path, stage, to }) => [path, stage, to],
    );
    assert.deepEqual(found, [
      ["root:tree", "Done", "b"],
      ["root:tree:leaf", "Done", "b"],
    ]);
  });

  it("says why a workspace cannot move, and that none moves that could be cancelled", async () => {
    const refused = await kcp("move", "workspace", "root", "--to-shard", "b");
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /root belongs to its shard/);
    await make("root", "still");
    const cancelled = await kcp("move", "workspace", "still", "--cancel");
    assert.match(cancelled.stderr, /root:still is not moving/);
    const nowhere = await kcp("move", "workspace", "still");
    assert.match(nowhere.stderr, /--to-shard/);
  });
});
