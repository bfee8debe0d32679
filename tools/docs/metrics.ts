/** The reference of metrics, read off a control plane that serves them. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { controlPlaneDefaults, startControlPlane } from "@kcp-ts/controlplane";
import { sleep, systemClock } from "@kcp-ts/machinery/base";

export interface Metric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
}

export const metricsPagePath = "docs/reference/metrics.md";

/** Of a server with all its controllers; they exist before the first request is counted. */
export async function servedMetrics(): Promise<readonly Metric[]> {
  const rootDirectory = await mkdtemp(join(tmpdir(), "kcp-metrics-"));
  const ignore = () => undefined;
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore, isDebugEnabled: false };
  const server = await startControlPlane(
    {
      ...controlPlaneDefaults,
      rootDirectory,
      bindAddress: "127.0.0.1",
      securePort: 0,
      storage: { kind: "memory" },
    },
    { log },
  );
  try {
    for (;;) {
      const found = await readMetrics(server.client);
      // The last of the controllers to be made.
      if (found.some(({ name }) => name === "workqueue_depth")) return found;
      await sleep(systemClock, 50);
    }
  } finally {
    await server.stop();
    await rm(rootDirectory, { recursive: true, force: true });
  }
}

const bytesMax = 8 << 20;

type TextClient = Awaited<ReturnType<typeof startControlPlane>>["client"];

async function readMetrics(client: TextClient): Promise<readonly Metric[]> {
  const response = await client.withBasePath("").send({ method: "GET", path: "/metrics" });
  const text = await response.body.text(bytesMax);
  const help = new Map(
    [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = "", words = ""]) => [name, words]),
  );
  return [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)]
    .map(([, name = "", type = ""]) => ({ name, type, help: help.get(name) ?? "" }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function metricsPage(metrics: readonly Metric[]): string {
  const rows = metrics.map(
    ({ name, type, help }) => `| \`${name}\` | ${type} | ${help.replaceAll("|", "\\|")} |`,
  );
  return `# Metrics

Written by \`npm run docs\` from what a server serves at \`/metrics\`; a test compares it.
[Operating](../guides/operating.md#metrics) says what to watch.

| name | type | meaning |
|---|---|---|
${rows.join("\n")}
`;
}
