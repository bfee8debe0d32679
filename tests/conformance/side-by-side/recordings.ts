/** What a real kube-apiserver answered, kept as one line of JSON per exchange. */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { CorpusResponse, CorpusTopic } from "./corpus-request.ts";
import type { CorpusResponses } from "./run-topic.ts";

export async function readRecording(topic: CorpusTopic): Promise<CorpusResponses> {
  const lines = (await readFile(fileOf(topic), "utf8")).split("\n").filter((line) => line !== "");
  return new Map(
    lines.map((line) => {
      const { name, ...answer } = JSON.parse(line) as CorpusResponse & { name: string };
      return [name, answer];
    }),
  );
}

export async function writeRecording(topic: CorpusTopic, answers: CorpusResponses): Promise<void> {
  const lines = [...answers].map(([name, answer]) => `${JSON.stringify({ name, ...answer })}\n`);
  await writeFile(fileOf(topic), lines.join(""));
}

/** Beside the source: the compiler copies no data. */
function fileOf({ name }: CorpusTopic): string {
  return fileURLToPath(
    new URL(`../../../conformance/side-by-side/recordings/${name}.jsonl`, import.meta.url),
  );
}
