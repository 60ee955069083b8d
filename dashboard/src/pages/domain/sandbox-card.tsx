import { Card } from '../../components/card.tsx'
import { Link } from '../../components/link.tsx'
import { useProject } from '../../session.ts'

/** Explains what a sandbox is for, what it cannot do, and how to go on from it. */
export function SandboxCard() {
  const project = useProject()
  return (
    <Card
      title="What a sandbox is"
      description="A project for trying things out, with everything set up."
      action={
        project.may('admin') && (
          <Link to="/new-project" look="primary">
            Create project
          </Link>
        )
      }
    >
      <ul className="flex list-disc flex-col gap-1.5 pl-4 text-muted marker:text-faint">
        <li>Calls are answered without any change to your DNS: the name above is the operator’s.</li>
        <li>
          It runs on trial credit, and takes no top-ups. Its{' '}
          <Link to={`/projects/${project.id}/limits`}>limits and daily budget</Link> are small.
        </li>
        <li>Chat models only. Monetization can be off or in test: no reader ever sees a recommendation.</li>
        <li>No site lives at this name, so browser sessions cannot be used here.</li>
        <li>Every account gets one. If you delete it, it is not created again.</li>
        <li>
          To go live, create a project with your own domain, verify it, and put its keys in place of these. Nothing else
          in your code changes.
        </li>
      </ul>
    </Card>
  )
}
