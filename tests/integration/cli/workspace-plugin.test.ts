/**
 * Goal: kubectl finds the plugins on its path, and they say and write into the kubeconfig what
 * kcp's do.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { readKubeconfigDocument } from "@kcp-ts/sdk";
import { findKubectl, kubectlMissing } from "@kcp-ts/testkit";
import { type KcpProcess, startKcp } from "./kcp-process.ts";

interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const plugins = ["kubectl-ws", "kubectl-create-workspace", "kubectl-kcp"];

describe("kubectl plugins", { skip: kubectlMissing() ?? false }, () => {
  let folder: string;
  let kcp: KcpProcess;
  let kubeconfig: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "kcp-plugins-"));
    await mkdir(join(folder, "bin"));
    for (const name of plugins) {
      const program = fileURLToPath(
        new URL(`../../../../packages/cli/bin/${name}.mjs`, import.meta.url),
      );
      await symlink(program, join(folder, "bin", name));
    }
    kcp = await startKcp(join(folder, "root"));
  });
  beforeEach(async () => {
    kubeconfig = join(folder, "kubeconfig");
    await copyFile(kcp.kubeconfig, kubeconfig);
  });
  after(async () => {
    await kcp.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const kubectl = (...args: readonly string[]): Promise<Result> =>
    new Promise((resolve) => {
      const path = [join(folder, "bin"), dirname(process.execPath), process.env["PATH"]];
      const env = {
        ...process.env,
        PATH: path.join(delimiter),
        KUBECONFIG: kubeconfig,
        HOME: folder,
      };
      execFile(
        findKubectl() as string,
        args,
        { env, timeout: 180_000 },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : Number((error as { code?: unknown }).code ?? -1);
          resolve({ code, stdout, stderr });
        },
      );
    });
  const says = async (expected: string, ...args: readonly string[]) => {
    const { code, stdout, stderr } = await kubectl(...args);
    assert.equal(stderr, "");
    assert.equal(stdout, expected);
    assert.equal(code, 0);
  };
  const document = async () =>
    readKubeconfigDocument(await readFile(kubeconfig, "utf8")) as unknown as {
      "current-context": string;
      clusters: { name: string; cluster: { server: string } }[];
      contexts: { name: string; context: { cluster: string; user: string } }[];
    };

  it("say where one is", async () => {
    await says("Current workspace is 'root'.\n", "ws", ".");
    await says("root\n", "ws", "current", "--short");
    await says("Current workspace is 'root'.\n", "kcp", "ws", ".");
  });

  it("make workspaces, enter them, and come back", async () => {
    const made = await kubectl("ws", "create", "org", "--enter");
    assert.equal(
      made.stdout,
      [
        'Workspace "org" (type root:organization) created. Waiting for it to be ready...',
        'Workspace "org" (type root:organization) is ready to use.',
        "Current workspace is 'root:org' (type root:organization).",
        "",
      ].join("\n"),
    );
    await kubectl("ws", "create", "team", "--type", "root:team");
    await says("Current workspace is 'root:org:team' (type root:team).\n", "ws", "team");
    await says("Current workspace is 'root:org' (type root:organization).\n", "ws", "..");
    await says("Current workspace is 'root:org:team' (type root:team).\n", "ws", "-");
    await says("Current workspace is 'root'.\n", "ws", "use", ":");
    await says("Current workspace is 'root:org:team' (type root:team).\n", "ws", ":root:org:team");
    await says("Current workspace is 'root'.\n", "ws", "..:..");
    await says(".\n└── root\n    └── org\n        └── team\n", "ws", "tree");
    await says(".\n└── root\n    └── root:org\n        └── root:org:team\n", "ws", "tree", "-f");
    await says(
      ".\n└── root\n    └── org ws=Ready lc=Ready\n        └── team ws=Ready lc=Ready\n",
      ...["ws", "tree", "--wide"],
    );
  });

  it("keep where one is, and was, in two contexts of the kubeconfig", async () => {
    await kubectl("ws", "create", "kept");
    await kubectl("ws", "kept");
    const { clusters, contexts, ...rest } = await document();
    assert.equal(rest["current-context"], "workspace.kcp.io/current");
    const servers = new Map(clusters.map(({ name, cluster }) => [name, cluster.server]));
    assert.equal(servers.get("workspace.kcp.io/current"), `${kcp.url}/clusters/root:kept`);
    assert.equal(servers.get("workspace.kcp.io/previous"), `${kcp.url}/clusters/root`);
    const current = contexts.find(({ name }) => name === "workspace.kcp.io/current");
    assert.equal(current?.context.user, "kcp-admin");
    for (const name of ["root", "base", "system:admin", "shard-base"])
      assert.ok(
        contexts.some((one) => one.name === name),
        name,
      );
    const { stdout } = await kubectl("get", "logicalclusters", "-o", "name");
    assert.equal(stdout, "logicalcluster.core.kcp.io/cluster\n");
  });

  it("switch to the home workspace, and say so when it was not requested by name", async () => {
    const { stdout, stderr, code } = await kubectl("ws");
    assert.equal(code, 0);
    assert.match(stdout, /^Current workspace is '[0-9a-z]+'\.\n$/);
    assert.match(stderr, /go to home workspace/);
    const named = await kubectl("ws", "~");
    assert.equal(named.stdout, stdout);
    assert.equal(named.stderr, "");
  });

  it("make contexts", async () => {
    await kubectl("ws", "create", "ctx", "--ignore-existing");
    await kubectl("ws", "ctx");
    await says('Created context "mine" and switched to it.\n', "ws", "create-context", "mine");
    const again = await kubectl("ws", "create-context", "mine");
    assert.match(again.stderr, /context "mine" already exists in kubeconfig, use --overwrite/);
    await says('Updated context "mine".\n', "ws", "create-context", "mine", "--overwrite");
  });

  it("take kubectl's flags for another server, user and token", async () => {
    await kubectl("ws", "create", "flagged", "--ignore-existing");
    const elsewhere = ["--server", `${kcp.url}/clusters/root:flagged`];
    await says("root:flagged\n", "ws", "current", "--short", ...elsewhere);
    const tree = [".", "└── flagged", ""].join("\n");
    await says(tree, "ws", "tree", ...elsewhere, "--insecure-skip-tls-verify");
    await says(tree, "ws", "tree", ...elsewhere, "--user", "shard-admin");
    const refused = await kubectl("ws", "create", "never", "--token", "wrong");
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /Unauthorized/);
    assert.ok(!(await readFile(kubeconfig, "utf8")).includes("workspace.kcp.io/flags"));
  });

  const failures: readonly [args: readonly string[], words: RegExp][] = [
    [["ws", "nowhere"], /workspace "root:nowhere" not found/],
    [["ws", ".."], /cannot go up from root/],
    [["ws", "Bad_Name"], /invalid workspace path: Bad_Name/],
    [["ws", "-"], /no previous workspace found in kubeconfig/],
    [["ws", "create", "x", "--type", "none"], /workspace type "none" cannot be resolved/],
  ];
  for (const [args, words] of failures) {
    it(`${args.join(" ")} fails in kcp's words`, async () => {
      const { code, stderr } = await kubectl(...args);
      assert.equal(code, 1);
      assert.match(stderr, words);
    });
  }

  it("an existing workspace is refused, or taken as it is", async () => {
    await kubectl("ws", "create", "once");
    const again = await kubectl("ws", "create", "once");
    assert.equal(again.code, 1);
    assert.match(again.stderr, /already exists/);
    const ignored = await kubectl("ws", "create", "once", "--ignore-existing");
    assert.equal(ignored.stdout, 'Workspace "once" (type root:organization) already exists.\n');
    const clash = await kubectl(
      ...["ws", "create", "once", "--ignore-existing", "--type", "root:universal"],
    );
    assert.match(clash.stderr, /it already exists with different type root:organization/);
  });

  it("kubectl create workspace is the same", async () => {
    const { stdout } = await kubectl("create", "workspace", "created");
    assert.match(stdout, /Workspace "created" \(type root:organization\) is ready to use\./);
    const { stdout: table } = await kubectl("get", "ws", "created");
    assert.match(
      table,
      /NAME +TYPE +REGION +PHASE +URL +AGE\ncreated +organization +Ready +https:/,
    );
    const deleted = await kubectl("delete", "ws", "created", "--timeout=150s");
    assert.equal(deleted.code, 0);
  });

  it("share an API: snapshot, export, bind, answer claims, and use it", async () => {
    const crd = join(folder, "crd.yaml");
    await writeFile(crd, JSON.stringify(cowboyDefinition));
    const snapshot = await kubectl("kcp", "crd", "snapshot", "-f", crd, "--prefix", "v1");
    assert.match(snapshot.stdout, /name: v1\.cowboys\.wildwest\.dev[\s\S]*\n---\n$/);
    const unnamed = await kubectl("kcp", "crd", "snapshot", "-f", crd);
    assert.match(unnamed.stderr, /--prefix is required/);
    await kubectl("ws", "create", "provider", "--enter");
    const manifests = join(folder, "api.yaml");
    await writeFile(manifests, `${snapshot.stdout}${JSON.stringify(cowboyExport)}`);
    const applied = await kubectl("apply", "-f", manifests);
    assert.equal(applied.code, 0, applied.stderr);
    await kubectl("ws", ":root");
    await kubectl("ws", "create", "consumer", "--enter");
    await says(
      "apibinding cowboys created. Waiting to successfully bind ...\ncowboys created and bound.\n",
      ...["kcp", "bind", "apiexport", "root:provider:cowboys", "--accept-all-permission-claims"],
    );
    const claims = await kubectl("kcp", "claims", "get", "apibinding", "cowboys");
    assert.match(
      claims.stdout,
      /^APIBINDING +GROUP-RESOURCE +VERBS +STATUS\ncowboys +configmaps +\* +Accepted\n$/,
    );
    await says(
      'claim "configmaps" on APIBinding "cowboys" is rejected\n',
      ...["kcp", "claims", "reject", "cowboys", "--resource", "configmaps.core"],
    );
    await says("Current workspace is 'root'.\n", "ws", "..");
    const bound = ["-w", ":root:consumer", "root:provider:cowboys"];
    const second = [...bound, "--name", "second", "--timeout", "1s"];
    const unanswered = await kubectl("kcp", "bind", "apiexport", ...second);
    assert.match(unanswered.stderr, /could not bind second: .*naming conflict/s);
    const entered = await kubectl("ws", "consumer");
    assert.equal(
      entered.stderr,
      "Warning: claim for configmaps exported but not specified on APIBinding second\n",
    );
    const cowboy = { apiVersion: "wildwest.dev/v1", kind: "Cowboy", metadata: { name: "luke" } };
    await writeFile(manifests, JSON.stringify(cowboy));
    const made = await kubectl("apply", "-f", manifests);
    assert.equal(made.stdout, "cowboy.wildwest.dev/luke created\n", made.stderr);
    const invalid = await kubectl(
      ...[
        "kcp",
        "bind",
        "apiexport",
        "root:provider:cowboys",
        "--accept-permission-claim",
        "secrets",
      ],
    );
    assert.match(invalid.stderr, /invalid permission claim "secrets"/);
  });
});

const cowboyDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "cowboys.wildwest.dev" },
  spec: {
    group: "wildwest.dev",
    names: { plural: "cowboys", singular: "cowboy", kind: "Cowboy", listKind: "CowboyList" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: { spec: { type: "object", properties: { intent: { type: "string" } } } },
          },
        },
      },
    ],
  },
};

const cowboyExport = {
  apiVersion: "apis.kcp.io/v1alpha2",
  kind: "APIExport",
  metadata: { name: "cowboys" },
  spec: {
    resources: [{ name: "cowboys", group: "wildwest.dev", schema: "v1.cowboys.wildwest.dev" }],
    permissionClaims: [{ group: "", resource: "configmaps", verbs: ["*"] }],
  },
};
