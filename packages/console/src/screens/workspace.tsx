/** A workspace: how it is, its children, and the kinds that it serves. */
import { logicalClusters, workspaces } from "@kcp-ts/sdk/kinds";
import { useState } from "preact/hooks";
import {
  type Condition,
  ConditionList,
  ErrorNotice,
  Field,
  KubectlLine,
  Loading,
  Part,
  shellLine,
  Tone,
} from "../elements/index.ts";
import { accessTo, now, useLiveObjects, useResources } from "../live/index.ts";
import { formatRoute, parentOf, useDialog } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { ActionButton } from "./action-button.tsx";
import type { ScreenProps } from "./console.tsx";
import { Glance } from "./glance.tsx";
import { lazily } from "./lazily.tsx";
import { ObjectTable } from "./object-table.tsx";

const CreateWorkspace = lazily(
  async () => (await import("./workspace-dialogs.tsx")).CreateWorkspace,
);
const DeleteWorkspace = lazily(
  async () => (await import("./workspace-dialogs.tsx")).DeleteWorkspace,
);

export function WorkspaceScreen({ route: { cluster, query } }: ScreenProps) {
  const client = useSession().clientIn(cluster);
  const [isCreating, setCreating] = useDialog(query, "create");
  const parent = parentOf(cluster);
  if (cluster === "*") return <AllWorkspaces />;
  return (
    <>
      <header class="title">
        <h1>{cluster}</h1>
        <ActionButton
          client={client}
          access={accessTo(workspaces, "create")}
          onClick={() => setCreating(true)}
        >
          Create workspace
        </ActionButton>
        {parent === undefined ? null : <Delete parent={parent} cluster={cluster} />}
      </header>
      <KubectlLine line={shellLine`kubectl ws :${cluster}`} />
      <Glance cluster={cluster} />
      <State cluster={cluster} />
      <section class="block fill" aria-labelledby="children">
        <h2 id="children">Child workspaces</h2>
        <ObjectTable
          cluster={cluster}
          resource={{ ...workspaces, singular: "workspace" }}
          query={{}}
          empty={{ what: "This workspace has no children.", next: "kubectl ws create my-team" }}
        />
      </section>
      <Kinds cluster={cluster} />
      {isCreating ? <CreateWorkspace cluster={cluster} onClose={() => setCreating(false)} /> : null}
    </>
  );
}

function Delete({ parent, cluster }: { readonly parent: string; readonly cluster: string }) {
  const client = useSession().clientIn(parent);
  const [isDeleting, setDeleting] = useState(false);
  const name = cluster.slice(parent.length + 1);
  return (
    <>
      <ActionButton
        client={client}
        access={accessTo(workspaces, "delete", { name })}
        class="danger"
        onClick={() => setDeleting(true)}
      >
        Delete…
      </ActionButton>
      {isDeleting ? (
        <DeleteWorkspace cluster={parent} name={name} onClose={() => setDeleting(false)} />
      ) : null}
    </>
  );
}

function AllWorkspaces() {
  return (
    <>
      <h1>All workspaces</h1>
      <p class="quiet">Objects of every logical cluster, for those who may read them.</p>
      <Kinds cluster="*" />
    </>
  );
}

function State({ cluster }: { readonly cluster: string }) {
  const client = useSession().clientIn(cluster);
  const live = useLiveObjects(client, logicalClusters, { fieldSelector: "metadata.name=cluster" });
  const object = live?.objects[0];
  if (object === undefined) return <Part of={live} what="the state of the workspace" />;
  const { phase = "", conditions = [] } = object.status ?? {};
  const bad = (conditions as readonly Condition[]).filter(({ status }) => status !== "True");
  return (
    <section class="block" aria-label="State">
      <dl class="fields">
        <Field name="Phase">
          <Tone word={phase} />
        </Field>
        <Field name="Logical cluster">
          <code>{object.metadata.annotations?.["kcp.io/cluster"] ?? ""}</code>
        </Field>
        <Field name="Type">
          {object.metadata.annotations?.["internal.tenancy.kcp.io/type"] ?? ""}
        </Field>
        <Field name="Entry">
          <a href={formatRoute({ screen: "access", cluster })}>Who may enter</a>
        </Field>
        <Field name="Created">{object.metadata.creationTimestamp ?? ""}</Field>
      </dl>
      {bad.length > 0 ? <ConditionList conditions={bad} nowMs={now.value} /> : null}
    </section>
  );
}

function Kinds({ cluster }: { readonly cluster: string }) {
  const { result, error } = useResources(useSession().clientIn(cluster === "*" ? "root" : cluster));
  const [filter, setFilter] = useState("");
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (result === undefined) return <Loading what="the kinds" />;
  const groups = new Map<string, string[]>();
  for (const { group, resource } of result) {
    if (!`${resource}.${group}`.includes(filter)) continue;
    groups.set(group, [...(groups.get(group) ?? []), resource]);
  }
  return (
    <section class="block" aria-labelledby="kinds">
      <header class="title">
        <h2 id="kinds">Kinds</h2>
        <input
          type="search"
          aria-label="Filter kinds"
          placeholder="Filter"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
      </header>
      <div class="kinds">
        {[...groups].map(([group, resources]) => (
          <div key={group}>
            <h3>{group === "" ? "core" : group}</h3>
            <ul>
              {resources.map((resource) => {
                const name = group === "" ? resource : `${resource}.${group}`;
                return (
                  <li key={resource}>
                    <a href={formatRoute({ screen: "list", cluster, resource: name })}>
                      {resource}
                    </a>
                  </li>
                );
              })}
            </ul>
          </div>
        ))}
      </div>
    </section>
  );
}
