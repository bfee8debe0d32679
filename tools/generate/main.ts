/**
 * `npm run generate -- --kubernetes <checkout>`: writes what this repository knows of Kubernetes'
 * own kinds, from the published files of a checkout of that release.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { namedMessages } from "./named-messages.ts";
import { readCheckout } from "./read-checkout.ts";
import { shapeFiles } from "./write-shapes.ts";

const { kubernetes } = parseArgs({ options: { kubernetes: { type: "string" } } }).values;
if (kubernetes === undefined) throw new Error("--kubernetes <checkout> is required");

const facts = readCheckout(kubernetes);
writeFolder("packages/machinery/src/shape/generated", shapeFiles(facts, namedMessages(facts)));

function writeFolder(folder: string, files: ReadonlyMap<string, string>): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of files) writeFileSync(`${folder}/${name}`, text);
}
