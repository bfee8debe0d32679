/**
 * The API reference: a page for each door of the published package, from the doc comments of what
 * it offers.
 */
import { checkoutDeclarations, type Declaration, declarationsOf } from "./declarations.ts";

/** Door to file; `.` is the package itself. */
const doors = new Map([
  ["kcp-ts", "index"],
  ["kcp-ts/sdk", "sdk"],
  ["kcp-ts/apiserver", "apiserver"],
  ["kcp-ts/testing", "testing"],
]);

/** Path to text. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  const source = checkoutDeclarations();
  const pages = new Map<string, string>();
  for (const [door, file] of doors) {
    const declarations = await declarationsOf(`packages/kcp-ts/dist/${file}.d.ts`, source);
    pages.set(`docs/reference/${file}.md`, page(door, declarations));
  }
  return pages;
}

export function page(door: string, declarations: readonly Declaration[]): string {
  const sections = [...byName(declarations).values()].map(
    (overloads) =>
      `## ${overloads[0]?.name}\n\n${commentOf(overloads)}\`\`\`ts\n${overloads.map(({ text }) => text).join("\n")}\n\`\`\`\n`,
  );
  return [
    `# ${door}\n`,
    "Generated from the doc comments by `npm run docs`; a test compares it with the code.\n",
    ...sections,
  ].join("\n");
}

function byName(declarations: readonly Declaration[]): Map<string, Declaration[]> {
  const found = new Map<string, Declaration[]>();
  for (const one of declarations) {
    const overloads = found.get(one.name);
    if (overloads === undefined) found.set(one.name, [one]);
    else overloads.push(one);
  }
  return found;
}

function commentOf(overloads: readonly Declaration[]): string {
  const text = overloads.find(({ comment }) => comment !== "")?.comment ?? "";
  return text === "" ? "" : `${text}\n\n`;
}
