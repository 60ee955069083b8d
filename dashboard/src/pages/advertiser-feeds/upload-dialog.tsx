import { useNavigate } from '@tanstack/react-router'
import { useForm, type UseFormReturn } from 'react-hook-form'
import { sendFile } from '../../api.ts'
import { Dialog } from '../../components/dialog.tsx'
import { CancelAndSubmit, Form, FormError, FormField } from '../../components/form.tsx'
import { FileInput } from '../../components/input.tsx'
import { Select } from '../../components/select.tsx'
import { useAdvertiser } from '../../session.ts'
import { CampaignField, CurrencyField, NameField, type Campaign } from './feed-fields.tsx'
import type { Feed } from './feed.ts'
import { packed } from './packed.ts'

interface Typed {
  file: FileList | undefined
  /** The id of a feed; empty: a new one. */
  feed: string
  name: string
  campaign: string
  currency: string
}

const UPLOAD = 'POST /api/advertisers/:advertiser/campaigns/:campaign/feed-uploads'
const NEW_FEED = { value: '', label: 'A new feed' }
const NAME_CHARS_MAX = 200

interface UploadDialogProps {
  feeds: Feed[]
  campaigns: Campaign[]
  onClose(): void
}

/** Sends a file. What it would change is shown before anything of it is published. */
export function UploadDialog({ feeds, campaigns, onClose }: UploadDialogProps) {
  const { id: advertiser } = useAdvertiser()
  const navigate = useNavigate()
  const form = useForm<Typed>({ defaultValues: typedOf(feeds[0], campaigns[0]?.id) })

  async function send({ file: files, feed: feedId, name, campaign, currency: typed }: Typed): Promise<void> {
    const file = files?.[0]
    if (!file) return
    const feed = feeds.find(({ id }) => id === feedId)?.name ?? name
    const currency = typed.trim().toUpperCase()
    const query = { feed, file: file.name.slice(-NAME_CHARS_MAX), ...(currency !== '' && { currency }) }
    const { id } = await sendFile(UPLOAD, { params: { advertiser, campaign }, query }, await packed(file))
    await navigate({ to: `/advertisers/${advertiser}/feeds/uploads/${id}` })
  }

  const actions = (
    <CancelAndSubmit
      onCancel={onClose}
      form="upload"
      isBusy={form.formState.isSubmitting}
      disabled={campaigns.length === 0}
    >
      Upload and check
    </CancelAndSubmit>
  )
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Upload a file"
      description="You see what it would change first. Nothing is published before you say so."
      actions={actions}
    >
      <Form form={form} onSubmit={send} id="upload">
        <FileField form={form} feeds={feeds} />
        <CampaignField form={form} name="campaign" campaigns={campaigns} />
        <CurrencyField form={form} name="currency" />
        <FormError form={form} />
      </Form>
    </Dialog>
  )
}

function FileField({ form, feeds }: { form: UseFormReturn<Typed>; feeds: Feed[] }) {
  const isNew = form.watch('feed') === ''
  const options = [...feeds.map(({ id, name }) => ({ value: id, label: name })), NEW_FEED]
  /** Takes over the settings of the feed: they apply to its next file as well. */
  function follow(id: string): void {
    const feed = feeds.find((each) => each.id === id)
    if (!feed) return
    form.setValue('campaign', feed.campaignId)
    form.setValue('currency', feed.currency ?? '')
  }
  return (
    <>
      <FormField
        form={form}
        name="file"
        label="File"
        hint="CSV, TSV, XML (RSS, Atom), JSON or Shopify’s export. Up to 10 MB when packed, which is about 100 MB as text."
        rules={{ validate: (chosen) => (chosen instanceof FileList && chosen.length > 0) || 'Choose a file.' }}
      >
        {(field) => <FileInput {...field} />}
      </FormField>
      {feeds.length > 0 && (
        <FormField
          form={form}
          name="feed"
          label="Feed"
          hint="The file takes the place of what the feed has now."
          rules={{ onChange: ({ target }: { target: HTMLSelectElement }) => follow(target.value) }}
        >
          {(field) => <Select {...field} options={options} />}
        </FormField>
      )}
      {isNew && <NameField form={form} name="name" />}
    </>
  )
}

function typedOf(feed: Feed | undefined, firstCampaign = ''): Typed {
  return {
    file: undefined,
    feed: feed?.id ?? '',
    name: '',
    campaign: feed?.campaignId ?? firstCampaign,
    currency: feed?.currency ?? '',
  }
}
