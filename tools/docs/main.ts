/** `npm run docs`: writes the API reference and the rule book of placement. */
import { mkdir, writeFile } from "node:fs/promises";
import { placementRulesPage, placementRulesPath } from "./placement-rules.ts";
import { referencePages } from "./reference.ts";

await mkdir("docs/reference", { recursive: true });
for (const [path, text] of await referencePages()) await writeFile(path, text);
await writeFile(placementRulesPath, placementRulesPage());
