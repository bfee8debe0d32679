/** Who may do what in a workspace: by kind, by subject, and for those who may not read that. */

import type { Client, KubernetesObject, Resource } from "@kcp-ts/sdk/client";
import {
  clusterRoleBindings,
  clusterRoles,
  roleBindings,
  roles,
  selfSubjectRulesReviews,
  subjectAccessReviews,
} from "@kcp-ts/sdk/kinds";
import { useState } from "preact/hooks";
import { ErrorNotice, KubectlLine, Loading, shellLine } from "../elements/index.ts";
import { useLoaded, useResources } from "../live/index.ts";
import { setQuery } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import {
  type Grant,
  grantsOf,
  type MatrixRow,
  matrixOfResource,
  matrixOfRules,
  noteOf,
  type PolicyRule,
  partsOf,
  type Subject,
  subjectText,
  verbs,
  whoMayEnter,
} from "./access-rules.ts";
import type { ScreenProps } from "./console.tsx";

/** Of each kind: the matrix is made in the page. */
const objectsMax = 10_000;

interface Policies {
  readonly grants: readonly Grant[];
  /** Kinds of which there are too many to look at all, in words. */
  readonly cut: readonly string[];
}

function usePolicies(cluster: string) {
  const client = useSession().clientIn(cluster);
  return useLoaded(async (signal): Promise<Policies> => {
    const cut: string[] = [];
    const listed = async <Kind extends KubernetesObject>(resource: Resource<Kind>) => {
      const items: Kind[] = [];
      for await (const page of client.resource(resource).pages({ signal })) {
        items.push(...page.items);
        if (items.length < objectsMax || !page.metadata.continue) continue;
        cut.push(`${items.length} ${resource.resource}`);
        break;
      }
      return items;
    };
    const [ofCluster, ofNamespaces, clusterWide, namespaced] = await Promise.all([
      listed(clusterRoles),
      listed(roles),
      listed(clusterRoleBindings),
      listed(roleBindings),
    ]);
    const grants = grantsOf({
      clusterRoles: ofCluster,
      roles: ofNamespaces,
      clusterRoleBindings: clusterWide,
      roleBindings: namespaced,
    });
    return { grants, cut };
  }, cluster);
}

export function AccessScreen({ route: { cluster, query } }: ScreenProps) {
  const { result, error } = usePolicies(cluster);
  return (
    <>
      <h1>Access</h1>
      {error !== undefined ? (
        <>
          <ErrorNotice error={error} />
          <p>What others may do here, you may not read. This is what you may do yourself.</p>
          <OwnRules cluster={cluster} namespace={query["ns"] ?? "default"} />
        </>
      ) : result === undefined ? (
        <Loading what="the roles and their bindings" />
      ) : (
        <>
          {result.cut.length === 0 ? null : (
            <p role="alert">
              {`Not all was looked at: only the first ${result.cut.join(", ")}. Others may do more.`}
            </p>
          )}
          <Everyone cluster={cluster} grants={result.grants} query={query} />
        </>
      )}
    </>
  );
}

interface EveryoneProps {
  readonly cluster: string;
  readonly grants: readonly Grant[];
  readonly query: Readonly<Record<string, string>>;
}

function Everyone({ cluster, grants, query }: EveryoneProps) {
  const client = useSession().clientIn(cluster);
  const kinds = (useResources(client).result ?? []).map(({ group, resource }) =>
    group === "" ? resource : `${resource}.${group}`,
  );
  const { subject = "", kind = "" } = query;
  const subjects = [...new Set(grants.map((one) => subjectText(one.subject)))].sort();
  const ofSubject = grants.filter((one) => subjectText(one.subject) === subject);
  const unknown = new Set(
    ofSubject.filter((one) => one.rules === undefined).map((one) => one.role),
  );
  const entering = whoMayEnter(grants);
  return (
    <>
      <KubectlLine line={lineOf(cluster, subject)} />
      <section class="block" aria-labelledby="entry">
        <h2 id="entry">Who may enter this workspace</h2>
        <p>
          {entering.length === 0
            ? "By its roles, only its owner and administrators of the server."
            : `${entering.join(", ")}; and administrators of the server.`}
        </p>
      </section>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Kind
          <input
            list="access-kinds"
            value={kind}
            placeholder="configmaps, pods/exec"
            onChange={(event) => setQuery({ kind: event.currentTarget.value.trim(), subject: "" })}
          />
        </label>
        <datalist id="access-kinds">
          {kinds.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <label>
          Subject
          <select
            value={subject}
            onChange={(event) => setQuery({ subject: event.currentTarget.value, kind: "" })}
          >
            <option value="">all</option>
            {subjects.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </form>
      {subject !== "" ? (
        <>
          <Matrix label={`What ${subject} may do`} first="Kind" rows={matrixOfRules(ofSubject)} />
          {unknown.size === 0 ? null : <p>{`${noteOf(unknown)}.`}</p>}
        </>
      ) : (
        <OfKind cluster={cluster} grants={grants} kind={kind || "configmaps"} />
      )}
    </>
  );
}

interface OfKindProps {
  readonly cluster: string;
  readonly grants: readonly Grant[];
  readonly kind: string;
}

/** Each is asked about with a review for each verb. */
const reviewedAtOnce = 20;

/** Of roles that the server has built in, the server says what they allow. */
function OfKind({ cluster, grants, kind }: OfKindProps) {
  const client = useSession().clientIn(cluster);
  const rows = matrixOfResource(grants, kind);
  const [reviewedMax, setReviewedMax] = useState(reviewedAtOnce);
  const open = rows.filter(({ note }) => note !== "");
  const asked = open.slice(0, reviewedMax);
  const { result } = useLoaded(
    async () => {
      const answers = asked.map(async ({ title, subject }) => {
        const allowed = await Promise.all(
          verbs.map(async (verb) => (await mayDo(client, subject as Subject, verb, kind)) && verb),
        );
        return [title, allowed.filter((verb) => verb !== false)] as const;
      });
      return new Map(await Promise.all(answers));
    },
    asked.length === 0 ? undefined : `${cluster} ${kind} ${asked.length}`,
  );
  const completed = rows.map((row) => {
    const allowed = result?.get(row.title);
    if (allowed === undefined) return row;
    const cells = new Map([...row.cells, ...allowed.map((verb) => [verb, "everywhere"] as const)]);
    return { ...row, cells, note: row.note.replace("and by", "also by") };
  });
  const entering = new Set(whoMayEnter(grants));
  const shown = completed
    // Of a subject that was not asked about it is not known that it may do nothing.
    .filter(({ title, cells }) => cells.size > 0 || result?.has(title) !== true)
    .map((row) => ({
      ...row,
      note: [row.note, entryNote(row, entering)].filter(Boolean).join("; "),
    }));
  return (
    <>
      <Matrix label={`Who may do what with ${kind}`} first="Subject" rows={shown} />
      {open.length > asked.length ? (
        <p role="status">
          {`What roles of the server give to ${open.length - asked.length} more subjects was not asked. `}
          <button type="button" onClick={() => setReviewedMax(reviewedMax + reviewedAtOnce)}>
            Ask about the next
          </button>
        </p>
      ) : null}
    </>
  );
}

/** ServiceAccounts of the workspace are in it; a user may be in a group that may enter. */
function entryNote({ title, subject }: MatrixRow, entering: ReadonlySet<string>): string {
  if (subject?.kind === "ServiceAccount" || entering.has("Group system:authenticated")) return "";
  return entering.has(title) ? "" : "may enter by other groups only";
}

/** Undecided counts as no: the review says what the server would do. */
async function mayDo(
  client: Client,
  { kind, name, namespace }: Subject,
  verb: string,
  of: string,
): Promise<boolean> {
  const { name: resource, group, subresource } = partsOf(of);
  const attributes = {
    verb,
    group,
    resource,
    ...(subresource === undefined ? {} : { subresource }),
  };
  const authenticated = "system:authenticated";
  const who = {
    User: { user: name, groups: [authenticated] },
    Group: { user: "system:kcp-console:anyone", groups: [name, authenticated] },
    ServiceAccount: {
      user: `system:serviceaccount:${namespace}:${name}`,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, authenticated],
    },
  }[kind];
  const review = await client
    .resource(subjectAccessReviews)
    .create({ metadata: {}, spec: { resourceAttributes: attributes, ...who } } as never);
  return (review.status as { allowed?: boolean } | undefined)?.allowed === true;
}

function lineOf(cluster: string, subject: string): string {
  return subject.startsWith("User ")
    ? shellLine`kubectl ws :${cluster} && kubectl auth can-i --list --as ${subject.slice(5)}`
    : shellLine`kubectl ws :${cluster} && kubectl get clusterroles,clusterrolebindings,roles,rolebindings -A`;
}

interface MatrixProps {
  readonly label: string;
  readonly first: string;
  readonly rows: readonly MatrixRow[];
}

function Matrix({ label, first, rows }: MatrixProps) {
  return (
    <section class="block" aria-label={label}>
      <h2>{label}</h2>
      {rows.length === 0 ? (
        <p class="quiet">No role of this workspace allows anything of it.</p>
      ) : (
        <table class="small matrix">
          <thead>
            <tr>
              <th scope="col">{first}</th>
              {verbs.map((verb) => (
                <th key={verb} scope="col">
                  {verb}
                </th>
              ))}
              <th scope="col">and</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ title, cells, note }) => (
              <tr key={title}>
                <th scope="row" dir="auto">
                  {title}
                </th>
                {verbs.map((verb) => (
                  <td key={verb} title={cells.get(verb)}>
                    {cellText(cells.get(verb))}
                  </td>
                ))}
                <td class="wide">{note}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function cellText(where: string | undefined) {
  if (where === undefined) return <span class="quiet">–</span>;
  return where === "everywhere" ? (
    <span class="allowed">yes</span>
  ) : (
    <span class="allowed">{`in ${where}`}</span>
  );
}

function OwnRules({
  cluster,
  namespace,
}: {
  readonly cluster: string;
  readonly namespace: string;
}) {
  const client = useSession().clientIn(cluster);
  const { result, error } = useLoaded(async () => {
    const review = await client
      .resource(selfSubjectRulesReviews)
      .create({ metadata: {}, spec: { namespace } } as never);
    const { resourceRules = [], nonResourceRules = [] } = (review.status ?? {}) as {
      resourceRules?: readonly PolicyRule[];
      nonResourceRules?: readonly PolicyRule[];
    };
    const rules = [...resourceRules, ...nonResourceRules];
    return matrixOfRules([{ role: "", rules, namespace: undefined }]);
  }, `${cluster} ${namespace}`);
  return (
    <>
      <KubectlLine
        line={shellLine`kubectl ws :${cluster} && kubectl auth can-i --list -n ${namespace}`}
      />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Namespace
          <input
            value={namespace}
            onChange={(event) => setQuery({ ns: event.currentTarget.value.trim() })}
          />
        </label>
      </form>
      {error !== undefined ? <ErrorNotice error={error} /> : null}
      {result === undefined && error === undefined ? <Loading what="your rules" /> : null}
      {result === undefined ? null : (
        <Matrix label={`What you may do in ${namespace}`} first="Kind" rows={result} />
      )}
    </>
  );
}
