/** `npm run docs`: writes the API reference, that of metrics, and the rule book of placement. */
import { mkdir, writeFile } from "node:fs/promises";
import { metricsPage, metricsPagePath, servedMetrics } from "./metrics.ts";
import { placementRulesPage, placementRulesPath } from "./placement-rules.ts";
import { referencePages } from "./reference.ts";

await mkdir("docs/reference", { recursive: true });
for (const [path, text] of await referencePages()) await writeFile(path, text);
await writeFile(placementRulesPath, placementRulesPage());
await writeFile(metricsPagePath, metricsPage(await servedMetrics()));
