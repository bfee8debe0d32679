/**
 * `npm run generate`: writes the types and resources of kcp's own kinds.
 *
 * `npm run generate -- --kubernetes <checkout>` also writes what this repository knows of
 * Kubernetes' own kinds, from the published files of a checkout of that release.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { namedMessages } from "./named-messages.ts";
import { readCheckout } from "./read-checkout.ts";
import { kcpKindFiles } from "./write-kcp-kinds.ts";
import { kindFiles } from "./write-kinds.ts";
import { shapeFiles } from "./write-shapes.ts";

const { kubernetes } = parseArgs({ options: { kubernetes: { type: "string" } } }).values;
if (kubernetes !== undefined) {
  const facts = readCheckout(kubernetes);
  writeFolder("packages/machinery/src/shape/generated", shapeFiles(facts, namedMessages(facts)));
  writeFolder("packages/sdk/src/kinds/generated", kindFiles(facts));
}
writeFolder("packages/sdk/src/kinds/kcp/generated", await kcpKindFiles());

function writeFolder(folder: string, files: ReadonlyMap<string, string>): void {
  rmSync(folder, { recursive: true, force: true });
  for (const [name, text] of files) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
