/**
 * Goal: what `helm install` and `kubectl apply` would send is what a cluster accepts and runs.
 * Method: the charts are rendered by the small renderer beside this test, created with strict field
 * validation in a simulated cluster, and their Pods run there; helm itself is not at hand.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { agentManifest, syncedResourcesDefault } from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import { startSimulatedCluster } from "@kcp-ts/simulator";
import { eventually } from "@kcp-ts/testkit";
import { load } from "js-yaml";
import {
  chartNames,
  type Manifest,
  manifestsOf,
  plainManifests,
  type Release,
  renderChart,
} from "./render-chart.ts";
import { renderTemplates } from "./template.ts";

const namespace = "kcp-system";
const kcp = { name: "kcp", namespace };
const several = {
  replicas: 3,
  credentialsSecret: "kcp-credentials",
  etcd: { servers: ["https://a:2379", "https://b:2379"], secretName: "etcd-client" },
  encryption: { secretName: "keys" },
  audit: { policyConfigMap: "policy" },
  extraArgs: ["--oidc-issuer-url=https://issuer.example.com"],
  tolerations: [{ key: "control-plane", operator: "Exists" }],
  nodeSelector: { role: "control-plane" },
  networkPolicy: { from: [{ namespaceSelector: {} }] },
};

const clusterScoped = new Set(["Namespace", "ClusterRole", "ClusterRoleBinding"]);

/** Creates the objects as kubectl does with `--validate=strict`. */
async function create(client: Client, manifests: readonly Manifest[]): Promise<void> {
  for (const manifest of manifests) {
    const { apiVersion, kind, metadata } = manifest;
    const base = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const plural = `${kind.toLowerCase()}s`.replace(/ys$/, "ies");
    const scope = clusterScoped.has(kind) ? "" : `/namespaces/${metadata.namespace}`;
    const { status, body } = await client.transport.send({
      method: "POST",
      path: `${base}${scope}/${plural}?fieldValidation=Strict`,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(manifest),
    });
    const text = await body.text(1 << 20);
    assert.equal(status, 201, `${kind} ${metadata.name}: ${text}`);
  }
}

async function inCluster(
  t: { after(end: () => Promise<void>): void },
  manifests: readonly Manifest[],
): Promise<Client> {
  const cluster = await startSimulatedCluster({ name: "host", nodes: 3 });
  t.after(() => cluster.close());
  const own = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  await create(cluster.client, [own, ...manifests]);
  return cluster.client;
}

async function readyPods(client: Client): Promise<number> {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const { body } = await client.transport.send({ method: "GET", path, headers: {} });
  const { items } = JSON.parse(await body.text(1 << 20)) as {
    items: { status?: { conditions?: { type: string; status: string }[] } }[];
  };
  const isReady = ({ type, status }: { type: string; status: string }) =>
    type === "Ready" && status === "True";
  return items.filter(({ status }) => status?.conditions?.some(isReady)).length;
}

async function untilReady(client: Client, count: number): Promise<void> {
  await eventually(async () => assert.equal(await readyPods(client), count), { intervalMs: 100 });
}

function find(manifests: readonly Manifest[], kind: string): Manifest {
  const found = manifests.find((one) => one.kind === kind);
  assert.ok(found !== undefined, `there is a ${kind}`);
  return found;
}

interface PodTemplate {
  readonly securityContext: { readonly runAsNonRoot?: boolean };
  readonly containers: readonly {
    readonly args: readonly string[];
    readonly securityContext: { readonly readOnlyRootFilesystem?: boolean };
  }[];
}

const podOf = (manifest: Manifest) =>
  (manifest["spec"] as { template: { spec: PodTemplate } }).template.spec;

describe("the chart of the control plane", () => {
  it("runs one server on a volume by default", async (t) => {
    const manifests = await manifestsOf("kcp", kcp);
    assert.deepEqual(
      manifests.map(({ kind }) => kind),
      ["NetworkPolicy", "Service", "Service", "ServiceAccount", "StatefulSet"],
    );
    const client = await inCluster(t, manifests);
    await untilReady(client, 1);
  });

  it("runs three servers on an etcd, with all of its values", async (t) => {
    const manifests = await manifestsOf("kcp", { ...kcp, values: several });
    find(manifests, "PodDisruptionBudget");
    const client = await inCluster(
      t,
      manifests.filter(({ kind }) => kind !== "StatefulSet"),
    );
    const set = find(manifests, "StatefulSet");
    // The simulated nodes have no such label.
    const { nodeSelector, ...pod } = podOf(set) as PodTemplate & { nodeSelector: object };
    assert.deepEqual(nodeSelector, several.nodeSelector);
    const spec = set["spec"] as { template: object };
    await create(client, [
      { ...set, spec: { ...spec, template: { ...spec.template, spec: pod } } },
    ]);
    await untilReady(client, 3);
  });

  it("has a ServiceMonitor of one endpoint for each server when it is asked for", async () => {
    const values = { serviceMonitor: { enabled: true, labels: { release: "prometheus" } } };
    const manifests = await manifestsOf("kcp", { ...kcp, values });
    const monitor = find(manifests, "ServiceMonitor");
    const { selector, endpoints } = monitor["spec"] as {
      selector: { matchLabels: Record<string, string> };
      endpoints: { port: string }[];
    };
    const services = manifests.filter(({ kind, metadata }) => {
      const { labels = {} } = metadata as { labels?: Record<string, string> };
      const wanted = Object.entries(selector.matchLabels);
      return kind === "Service" && wanted.every(([name, value]) => labels[name] === value);
    });
    assert.deepEqual(
      services.map(({ metadata }) => metadata.name),
      ["kcp-peers"],
    );
    assert.equal(endpoints[0]?.port, "https");
  });

  it("names only flags that kcp start has", async () => {
    const help = execFileSync("packages/cli/bin/kcp.mjs", ["start", "--help"], {
      encoding: "utf8",
    });
    const manifests = await manifestsOf("kcp", { ...kcp, values: several });
    const { containers } = podOf(find(manifests, "StatefulSet"));
    const [verb, ...flags] = containers[0]?.args ?? [];
    assert.equal(verb, "start");
    for (const flag of flags) assert.ok(help.includes(`${flag.split("=")[0]} `), flag);
  });

  it("refuses values that its schema or its templates do not allow", async () => {
    const refused = [
      [{ replicas: 0 }, /replicas: is not from 1 to 9/],
      [{ replica: 3 }, /replica: is not a value of this chart/],
      [{ service: { type: "External" } }, /service\.type: one of ClusterIP/],
      [{ etcd: { servers: ["a:2379"] } }, /servers\[0\]: does not match/],
      [{ replicas: 3 }, /set etcd\.servers/],
      [{ replicas: 3, etcd: several.etcd }, /set credentialsSecret/],
    ] as const;
    for (const [values, message] of refused)
      await assert.rejects(manifestsOf("kcp", { ...kcp, values }), message);
  });
});

describe("the chart of the agent", () => {
  const account = "kcp-syncer-east-3b4c";
  const agent = {
    target: { cluster: "root", name: "east", uid: "3b4c" },
    resources: syncedResourcesDefault,
    image: "kcp-syncer:0.1.0",
    kubeconfig: "apiVersion: v1\n",
    token: "secret",
  };

  it("installs what the manifest of the agent installs", async (t) => {
    const plain = agentManifest(agent) as unknown as readonly Manifest[];
    const name = find(plain, "Deployment").metadata.name;
    const rules = find(plain, "ClusterRole")["rules"];
    const release: Release = {
      name,
      namespace: name,
      values: { ...agent, account: name, rules, resources: [...agent.resources] },
    };
    const manifests = await manifestsOf("kcp-agent", release);
    for (const manifest of plain) {
      if (manifest.kind === "Namespace") continue;
      const { metadata, ...content } = manifest;
      const { metadata: own, ...rendered } = find(manifests, manifest.kind);
      assert.deepEqual(
        { ...rendered, metadata: { name: own.name, namespace: own.namespace } },
        { ...withPullPolicy(content), metadata: { name, namespace: metadata.namespace } },
        manifest.kind,
      );
    }
    const cluster = await startSimulatedCluster({ name: "east", nodes: 1 });
    t.after(() => cluster.close());
    await create(cluster.client, [find(plain, "Namespace"), ...manifests]);
  });

  it("takes a Secret that exists, and asks for what has no default", async () => {
    const values = { account, existingSecret: "credentials", target: agent.target };
    const manifests = await manifestsOf("kcp-agent", { ...kcp, values });
    assert.ok(manifests.every(({ kind }) => kind !== "Secret"));
    await assert.rejects(manifestsOf("kcp-agent", kcp), /account: print the values/);
    const noToken = { account, target: agent.target, kubeconfig: "a" };
    await assert.rejects(manifestsOf("kcp-agent", { ...kcp, values: noToken }), /token, or/);
  });
});

/** The chart states the default of a member that the manifest leaves out. */
function withPullPolicy(content: object): object {
  const text = JSON.stringify(content);
  const image = '"image":"kcp-syncer:0.1.0",';
  return JSON.parse(text.replace(image, `${image}"imagePullPolicy":"IfNotPresent",`)) as object;
}

describe("charts and manifests", () => {
  it("run Pods as a user without rights in a root that is read-only", async () => {
    const workloads = (await manifestsOf("kcp", { ...kcp, values: several }))
      .concat(
        await manifestsOf("kcp-agent", { ...kcp, values: { account: "a", existingSecret: "b" } }),
      )
      .filter(({ kind }) => kind === "StatefulSet" || kind === "Deployment");
    assert.equal(workloads.length, 2);
    for (const manifest of workloads) {
      const { securityContext, containers } = podOf(manifest);
      assert.equal(securityContext.runAsNonRoot, true);
      for (const { securityContext: own } of containers)
        assert.equal(own.readOnlyRootFilesystem, true);
    }
  });

  it("have the version of the package", async () => {
    const { version } = JSON.parse(await readFile("packages/kcp-ts/package.json", "utf8")) as {
      version: string;
    };
    for (const chart of chartNames) {
      const text = await readFile(`deploy/charts/${chart}/Chart.yaml`, "utf8");
      const meta = load(text) as Record<string, string>;
      assert.deepEqual([meta["version"], meta["appVersion"]], [version, version]);
    }
  });

  it("are equal: npm run docs writes the manifests from the chart", async () => {
    for (const [path, text] of await plainManifests())
      assert.equal(await readFile(path, "utf8"), text, `${path}: run npm run docs`);
  });
});

describe("the renderer of templates", () => {
  const render = (text: string, values: object) =>
    renderTemplates(new Map([["a.yaml", text]]), { Values: values }).get("a.yaml");

  const cases = [
    ["a: {{ .Values.x }}", { x: 1 }, "a: 1"],
    ["{{- if and .Values.x (not .Values.y) }}yes{{ else }}no{{ end }}", { x: 1 }, "yes"],
    ["{{ if .Values.x }}1{{ else if .Values.y }}2{{ else }}3{{ end }}", { y: 1 }, "2"],
    ["{{ range .Values.x }}<{{ . }}>{{ end }}", { x: ["a", "b"] }, "<a><b>"],
    [
      "{{ range $k, $v := .Values.x }}{{ $k }}={{ $v }};{{ end }}",
      { x: { b: 1, a: 2 } },
      "a=2;b=1;",
    ],
    ["{{ with .Values.x }}\n{{- toYaml . | nindent 2 }}{{ end }}", { x: { a: 1 } }, "\n  a: 1"],
    ['{{ define "n" }}[{{ .x }}]{{ end }}{{ include "n" .Values | quote }}', { x: 1 }, '"[1]"'],
    ["{{ $a := .Values.x }}{{ $a }}{{/* not shown */}}", { x: 7 }, "7"],
    ['{{ default "d" .Values.x }}{{ $.Values.y }}', { x: "", y: 2 }, "d2"],
  ] as const;
  for (const [text, values, expected] of cases)
    it(`renders ${text.replaceAll("\n", "⏎")}`, () => {
      assert.equal(render(text, values), expected);
    });

  it("refuses what it does not know", () => {
    assert.throws(() => render("{{ sha256sum .Values.x }}", {}), /no function sha256sum/);
    assert.throws(() => render("{{ if .Values.x }}", {}), /no else or end/);
    assert.throws(() => render('{{ include "n" . }}', {}), /no template is named n/);
  });

  it("renders the notes of the chart", async () => {
    const notes = (await renderChart("kcp", kcp)).get("NOTES.txt") ?? "";
    assert.match(notes, /https:\/\/kcp\.kcp-system\.svc:6443/);
  });
});
