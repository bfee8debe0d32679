/** Renders the charts of deploy/charts, and the plain manifests that are made of them. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { load, loadAll } from "js-yaml";
import { renderTemplates } from "./template.ts";
import { type ValuesSchema, valueErrors } from "./values-schema.ts";

type Members = Readonly<Record<string, unknown>>;

export interface Manifest extends Members {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export interface Release {
  readonly name: string;
  readonly namespace: string;
  /** Merged into those of the chart. */
  readonly values?: Members;
}

const chartsFolder = "deploy/charts";

export const chartNames = ["kcp", "kcp-agent"] as const;
export type ChartName = (typeof chartNames)[number];

/** Throws for values that the chart's schema refuses. */
export async function renderChart(
  chart: ChartName,
  release: Release,
): Promise<ReadonlyMap<string, string>> {
  const folder = join(chartsFolder, chart);
  const read = (name: string) => readFile(join(folder, name), "utf8");
  const meta = load(await read("Chart.yaml")) as Record<string, string>;
  const values = merged(load(await read("values.yaml")) as Members, release.values ?? {});
  const schema = JSON.parse(await read("values.schema.json")) as ValuesSchema;
  const errors = valueErrors(schema, values);
  if (errors.length > 0) throw new Error(errors.join("\n"));
  const names = (await readdir(join(folder, "templates"))).sort();
  const files = await Promise.all(
    names.map(async (name) => [name, await read(join("templates", name))] as const),
  );
  return renderTemplates(new Map(files), {
    Values: values,
    Release: { Name: release.name, Namespace: release.namespace, Service: "Helm" },
    Chart: { Name: meta["name"], Version: meta["version"], AppVersion: meta["appVersion"] },
  });
}

export async function manifestsOf(
  chart: ChartName,
  release: Release,
): Promise<readonly Manifest[]> {
  const rendered = await renderChart(chart, release);
  return [...rendered]
    .filter(([name]) => name.endsWith(".yaml"))
    .flatMap(([, text]) => loadAll(text) as (Manifest | undefined)[])
    .filter((manifest) => manifest !== undefined && manifest !== null);
}

/** Members of objects are merged, everything else is replaced, as helm does. */
function merged(base: Members, over: Members): Members {
  const members = Object.entries(over).map(([name, value]) => {
    const known = base[name];
    return [name, isMembers(known) && isMembers(value) ? merged(known, value) : value] as const;
  });
  return { ...base, ...Object.fromEntries(members) };
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Path to text: one server on a volume, and three servers on an etcd. */
export async function plainManifests(): Promise<ReadonlyMap<string, string>> {
  const namespace = "kcp-system";
  const etcd = {
    replicas: 3,
    credentialsSecret: "kcp-credentials",
    etcd: {
      servers: ["0", "1", "2"].map((at) => `https://etcd-${at}.etcd.${namespace}.svc:2379`),
      secretName: "kcp-etcd-client",
    },
  };
  const pages = [
    ["kcp.yaml", "One server on a volume", {}],
    [
      "kcp-etcd.yaml",
      "Three servers on an etcd; the Secrets kcp-credentials and kcp-etcd-client come first",
      etcd,
    ],
  ] as const;
  const rendered = pages.map(async ([file, title, values]) => {
    const texts = await renderChart("kcp", { name: "kcp", namespace, values });
    const documents = [...texts]
      .filter(([name, text]) => name.endsWith(".yaml") && text.trim() !== "")
      .map(([, text]) => `---\n${text.trim()}\n`);
    const head = `# ${title}: kubectl apply -f deploy/manifests/${file}\n# Written by npm run docs from deploy/charts/kcp; a test compares them.\n`;
    const first = `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${namespace}\n`;
    return [`deploy/manifests/${file}`, `${head}${first}${documents.join("")}`] as const;
  });
  return new Map(await Promise.all(rendered));
}
