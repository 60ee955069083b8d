import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useForm } from 'react-hook-form'
import { api } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Form, FormError, FormField } from '../../components/form.tsx'
import { HostField } from '../../components/host-field.tsx'
import { Input } from '../../components/input.tsx'
import { Link } from '../../components/link.tsx'
import { toast } from '../../components/toast.tsx'
import { readMeAgain } from '../../session.ts'
import { FrameCard } from '../../shell/frame-card.tsx'

export function AdvertisePage() {
  const client = useQueryClient()
  const navigate = useNavigate()
  const form = useForm({ defaultValues: { name: '', legalName: '', domain: '' } })

  async function signUp(body: { name: string; legalName: string; domain: string }): Promise<void> {
    const { id } = await api('POST /api/me/advertisers', { body })
    await readMeAgain(client)
    toast(`${body.name} is signed up.`)
    await navigate({ to: `/advertisers/${id}` })
  }

  return (
    <FrameCard
      title="Advertise"
      description="Have your products recommended where they fit a conversation. You pay only for readers’ clicks, from credit that you add."
      below={<Link to="/">Back to the console</Link>}
    >
      <Form form={form} onSubmit={signUp}>
        <FormField
          form={form}
          name="name"
          label="Shown name"
          hint="Readers see it before each recommendation. At most 60 characters."
          rules={{ required: 'Enter a name.' }}
        >
          {(field) => <Input {...field} placeholder="Acme Audio" autoComplete="organization" autoFocus />}
        </FormField>
        <FormField
          form={form}
          name="legalName"
          label="Legal name"
          hint="The company that pays."
          rules={{ required: 'Enter the legal name of the company.' }}
        >
          {(field) => <Input {...field} placeholder="Acme Audio Ltd" autoComplete="off" />}
        </FormField>
        <HostField
          form={form}
          name="domain"
          label="Domain"
          hint="Where your products are sold. Every link must lead there or to a subdomain."
        />
        <p className="text-sm text-muted">The operator looks at each advertiser before anything is recommended.</p>
        <FormError form={form} />
        <Button type="submit" look="primary" size="lg" isBusy={form.formState.isSubmitting}>
          Sign up as an advertiser
        </Button>
      </Form>
    </FrameCard>
  )
}
