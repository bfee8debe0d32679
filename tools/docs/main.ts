/**
 * `npm run docs`: writes the references of the library, commands, kinds and metrics, the rule book
 * of placement, and the manifests that are made of the chart.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { plainManifests } from "../charts/render-chart.ts";
import { cliPage, cliPagePath } from "./cli-reference.ts";
import { kindsPage, kindsPagePath, servedKinds } from "./kinds-reference.ts";
import { metricsPage, metricsPagePath, servedMetrics } from "./metrics.ts";
import { placementRulesPage, placementRulesPath } from "./placement-rules.ts";
import { referencePages } from "./reference.ts";

await mkdir("docs/reference", { recursive: true });
for (const [path, text] of await referencePages()) await writeFile(path, text);
for (const [path, text] of await plainManifests()) await writeFile(path, text);
await writeFile(placementRulesPath, placementRulesPage());
await writeFile(cliPagePath, cliPage());
await writeFile(kindsPagePath, kindsPage(await servedKinds()));
await writeFile(metricsPagePath, metricsPage(await servedMetrics()));
