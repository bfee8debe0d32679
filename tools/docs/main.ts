/** `npm run docs`: writes the API reference and that of metrics. */
import { mkdir, writeFile } from "node:fs/promises";
import { metricsPage, metricsPagePath, servedMetrics } from "./metrics.ts";
import { referencePages } from "./reference.ts";

await mkdir("docs/reference", { recursive: true });
for (const [path, text] of await referencePages()) await writeFile(path, text);
await writeFile(metricsPagePath, metricsPage(await servedMetrics()));
