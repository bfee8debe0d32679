/** Rules about documents that can be checked against code. */
import type { SourceTree } from "./source-tree.ts";

export function decisionNumbers(tree: SourceTree): string[] {
  const byNumber = new Map<string, string>();
  const findings: string[] = [];
  for (const path of tree.documents.keys()) {
    const name = /^docs\/adr\/([^/]+)\.md$/.exec(path)?.[1];
    if (name === undefined || name === "README" || name === "template") continue;
    const number = /^(\d{4})-./.exec(name)?.[1];
    if (number === undefined) {
      findings.push(`${path}: a decision is named NNNN-title.md`);
      continue;
    }
    const other = byNumber.get(number);
    if (other !== undefined) findings.push(`${path}: number ${number} is taken by ${other}`);
    byNumber.set(number, path);
  }
  return findings;
}

const pipelinePath = "packages/apiserver/src/pipeline.ts";

/** The stages of pipeline.ts stand in ARCHITECTURE.md, in code marks or in bold, in the order in which they run. */
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
