/**
 * The same requests to a real kube-apiserver and to us: the same answers.
 *
 * Everywhere, our answers are compared with the recorded ones. With `KUBEBUILDER_ASSETS` the real
 * server is started too and must still answer as recorded; with `SIDE_BY_SIDE=record` besides, its
 * answers become the recordings.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { compareResponses, type Difference, describeDifference } from "./compare.ts";
import { corpus } from "./corpus/index.ts";
import type { CorpusTopic } from "./corpus-request.ts";
import { type ExpectedDifference, expectedDifferences } from "./expected-differences.ts";
import { expectedFieldDifferences } from "./expected-field-differences.ts";
import { type KubeApiserver, kubeApiserverMissing, startKubeApiserver } from "./kube-apiserver.ts";
import { readRecording, writeRecording } from "./recordings.ts";
import { established } from "./requests.ts";
import { type CorpusResponses, runTopic } from "./run-topic.ts";
import { Sender } from "./send.ts";
import { type CorpusWebhook, startWebhook } from "./webhook-server.ts";

describe("our server beside the recorded answers of a kube-apiserver", () => {
  let plane: TestControlPlane;
  let sender: Sender;
  let webhook: CorpusWebhook;
  before(async () => {
    webhook = await startWebhook();
    // The recorded server stood alone, too.
    plane = await startTestControlPlane({ controlLoops: false });
    const { url, caPem } = await plane.listen();
    sender = new Sender({ url, caPem, token: tokenIn(await plane.kubeconfig()) });
  });
  after(async () => {
    sender.close();
    await plane.close();
    await webhook.stop();
  });

  for (const topic of corpus) {
    it(`answers alike: ${topic.name}`, async () => {
      await serve(topic, sender, webhook.placeholders);
      const all = [...expectedDifferences, ...expectedFieldDifferences];
      const meant = all.filter((one) => one.topic === topic.name);
      report(
        topic,
        await readRecording(topic),
        await runTopic(topic, sender, webhook.placeholders),
        meant,
      );
    });
  }
});

describe("the recorded answers", { skip: kubeApiserverMissing() ?? false }, () => {
  let real: KubeApiserver;
  let sender: Sender;
  let webhook: CorpusWebhook;
  before(async () => {
    webhook = await startWebhook();
    real = await startKubeApiserver();
    sender = new Sender(real);
  });
  after(async () => {
    sender?.close();
    await real?.stop();
    await webhook?.stop();
  });

  for (const topic of corpus) {
    it(`are what the real server answers: ${topic.name}`, async () => {
      const answers = await runTopic(topic, sender, webhook.placeholders);
      if (process.env["SIDE_BY_SIDE"] === "record") await writeRecording(topic, answers);
      report(topic, await readRecording(topic), answers, []);
    });
  }
});

/** The real server has these kinds from the start; here a cluster would bring them. */
async function serve(
  { definitions = [] }: CorpusTopic,
  sender: Sender,
  words: ReadonlyMap<string, string>,
): Promise<void> {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  for (const body of definitions) {
    const { name } = (body as { metadata: { name: string } }).metadata;
    await sender.send({ name, method: "POST", path, body }, words);
    const isServed = { name, method: "GET", path: `${path}/${name}`, until: established } as const;
    await runTopic({ name, requests: [isServed] }, sender, words);
  }
}

function report(
  topic: CorpusTopic,
  expected: CorpusResponses,
  actual: CorpusResponses,
  meant: readonly ExpectedDifference[],
): void {
  assert.deepEqual([...actual.keys()], [...expected.keys()], "recorded for another corpus");
  const unused = new Set(
    meant.flatMap((one) => one.requests.map((name) => `${name} at ${one.at}`)),
  );
  const lines: string[] = [];
  for (const { name, method, path } of topic.requests) {
    const differences = differencesOf(expected, actual, name).filter(({ at }) => {
      const reasons = meant.filter((one) => one.requests.includes(name) && at.startsWith(one.at));
      for (const one of reasons) unused.delete(`${name} at ${one.at}`);
      return reasons.length === 0;
    });
    if (differences.length > 0) {
      lines.push(`${name} (${method} ${path})`, ...differences.map(describeDifference));
    }
  }
  for (const one of unused) lines.push(`no longer differs: ${one}`);
  assert.equal(lines.join("\n"), "");
}

function differencesOf(
  expected: CorpusResponses,
  actual: CorpusResponses,
  name: string,
): Difference[] {
  const [recorded, answered] = [expected.get(name), actual.get(name)];
  assert.ok(recorded !== undefined && answered !== undefined);
  return compareResponses(recorded, answered);
}

function tokenIn(kubeconfig: string): string {
  const { users } = JSON.parse(kubeconfig) as { users: [{ user: { token: string } }] };
  return users[0].user.token;
}
