/** Rules about documents that can be checked against code. */
import type { SourceTree } from "./source-tree.ts";

const decisionIndex = "docs/adr/README.md";

/**
 * Decisions are numbered from 0001 without holes, each begins with its number and title, and the
 * index lists every one of them by that title and says which are superseded.
 */
export function decisionNumbers(tree: SourceTree): string[] {
  const byNumber = new Map<string, string>();
  const findings: string[] = [];
  const index = tree.documents.get(decisionIndex) ?? "";
  for (const [path, text] of tree.documents) {
    const name = /^docs\/adr\/([^/]+)\.md$/.exec(path)?.[1];
    if (name === undefined || path === decisionIndex) continue;
    const number = /^(\d{4})-./.exec(name)?.[1];
    if (number === undefined) {
      findings.push(`${path}: a decision is named NNNN-title.md`);
      continue;
    }
    const other = byNumber.get(number);
    if (other !== undefined) findings.push(`${path}: number ${number} is taken by ${other}`);
    byNumber.set(number, path);
    findings.push(...notIndexed(path, text, index));
  }
  return [...findings, ...holes(byNumber)];
}

function notIndexed(path: string, text: string, index: string): string[] {
  const file = path.slice("docs/adr/".length);
  const title = /^# (.*)\n\nDate: \d{4}-\d\d-\d\d\. Status: /.exec(text)?.[1];
  if (!title?.startsWith(`${file.slice(0, 4)} `))
    return [`${path}: begins with "# ${file.slice(0, 4)} Title", then its date and Status`];
  const entry = index
    .split("\n- ")
    .map((one) => one.replace(/\s+/g, " "))
    .find((one) => one.startsWith(`[${title}](${file})`));
  if (entry === undefined) return [`${decisionIndex}: does not list [${title}](${file})`];
  const status = /^Date: .*(?:\n.+)*/m.exec(text)?.[0] ?? "";
  if (/\bsuperseded\b/.test(status) && !/\bsuperseded\b/.test(entry))
    return [`${decisionIndex}: does not say that ${file} is superseded`];
  return [];
}

function holes(byNumber: ReadonlyMap<string, string>): string[] {
  const highest = [...byNumber.keys()].sort().at(-1) ?? "0000";
  return Array.from({ length: Number(highest) }, (_, at) => String(at + 1).padStart(4, "0"))
    .filter((number) => !byNumber.has(number))
    .map((number) => `docs/adr: number ${number} is missing below ${highest}`);
}

const pipelinePath = "packages/apiserver/src/pipeline.ts";

/**
 * The stages of pipeline.ts stand in ARCHITECTURE.md, in code marks or in bold, in the order in
 * which they run.
 */
export function pipelineOrder(tree: SourceTree): string[] {
  const text = tree.documents.get("ARCHITECTURE.md");
  const pipeline = tree.files.get(pipelinePath);
  if (text === undefined || pipeline === undefined) return [];
  const list = /pipeline\b[^=]*=\s*\[([\s\S]*?)\n\];/.exec(pipeline.uncommented)?.[1];
  const stages = [...(list ?? "").matchAll(/\[\s*"([\w-]+)"/g)].map(([, name]) => name as string);
  if (stages.length === 0) return [`${pipelinePath}: has no list of stages that a test can read`];
  const inOrder = stages.map((stage) => `[\`*]${stage}[\`*]`).join("[\\s\\S]{1,400}?");
  if (new RegExp(inOrder).test(text)) return [];
  return [`ARCHITECTURE.md: does not name the stages in running order: ${stages.join(", ")}`];
}
