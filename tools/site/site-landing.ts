/** The landing page: what this is, three commands, and the first five minutes of each reader. */
import { escapeHtml } from "./render-markdown.ts";

const guarantees = [
  [
    "Nothing is lost, nothing leaks",
    "A write is acknowledged when it is on disk. The logical cluster is part of every key.",
  ],
  [
    "It is Kubernetes",
    "kubectl, client-go, controller-runtime and helm use a logical cluster as a cluster of its own.",
  ],
  ["A tenant is free", "Cost follows bytes and changes, not the number of tenants."],
  [
    "Many clusters, one status",
    "Workloads run in all registered clusters, and move when one is lost, full or drained.",
  ],
] as const;

const readers = [
  {
    name: "App teams",
    intro: "You have a workspace, and apply workloads to it.",
    commands: [
      "kubectl ws :root:shop",
      "kubectl create deployment web --image=nginx --replicas=6",
      "kubectl kcp explain-placement deployment web",
    ],
    next: ["docs/multicluster.html", "A Deployment in many clusters"],
  },
  {
    name: "Platform admins",
    intro: "You run the control plane, register clusters and share them.",
    commands: [
      "npx kcp-ts start",
      "kcp join us-east1 --cluster-kubeconfig us-east1.kubeconfig",
      "kcp status",
    ],
    next: ["docs/guides/install.html", "Install"],
  },
  {
    name: "Controller authors",
    intro: "You write programs against the API, and test them.",
    commands: [
      "npm install kcp-ts",
      'import { startTestControlPlane } from "kcp-ts/testing"',
      "npx kcp-ts test-server -- npm test",
    ],
    next: ["docs/guides/testing.html", "An API server inside a test"],
  },
] as const;

const start = `npx kcp-ts start &
npx kcp-ts sim --clusters 2 --join &
KUBECONFIG=.kcp/admin.kubeconfig kubectl create deployment web --image=nginx --replicas=6`;

export function landing(): string {
  const promises = guarantees
    .map(([name, text]) => `<li><strong>${name}.</strong> ${text}</li>`)
    .join("");
  const paths = readers
    .map(
      ({ name, intro, commands, next: [href, label] }) =>
        `<section><h3>${name}</h3><p>${intro}</p><pre><code>${escapeHtml(commands.join("\n"))}</code></pre><p><a href="${href}">${label}</a></p></section>`,
    )
    .join("");
  return `<h1>A Kubernetes API server for thousands of logical clusters</h1>
<p class="lead">One Node.js process, no database, no Docker. On top of it, a control plane for many
physical clusters.</p>
<img class="shot" src="docs/images/console-placement.png" alt="The placement of a Deployment in the console">
<h2 id="start">From Node to a Deployment over two simulated clusters</h2>
<pre><code>${escapeHtml(start)}</code></pre>
<ul class="promises">${promises}</ul>
<h2 id="readers">The first five minutes</h2>
<div class="readers">${paths}</div>
<h2 id="more">More</h2>
<ul><li><a href="docs/comparison.html">Comparison</a> with kcp, Karmada, OCM, vCluster and
kube-apiserver</li><li><a href="docs/internals/performance.html">Figures</a>, and how to repeat
them</li><li><a href="docs/sizing.html">Sizing</a>, <a href="docs/support.html">support</a>, <a
href="docs/faq.html">questions</a></li><li><a href="docs/README.html">All documents</a></li></ul>`;
}
