import { useForm, type UseFormReturn } from 'react-hook-form'
import { api, ApiError } from '../../api.ts'
import { Dialog } from '../../components/dialog.tsx'
import { CancelAndSubmit, Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { Select } from '../../components/select.tsx'
import { toast } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'
import { CampaignField, CurrencyField, NameField, type Campaign } from './feed-fields.tsx'
import { FEED_READS } from './feed-menu.tsx'
import { INTERVALS, type Feed, type Interval } from './feed.ts'

interface Typed {
  name: string
  url: string
  campaign: string
  every: Interval
  currency: string
}

interface AddressDialogProps {
  feed: Feed | undefined
  campaigns: Campaign[]
  onClose(): void
}

/** For a new feed, or for one that is there: also for one whose files were uploaded until now. */
export function AddressDialog({ feed, campaigns, onClose }: AddressDialogProps) {
  const { id: advertiser } = useAdvertiser()
  const add = useChange('POST /api/advertisers/:advertiser/campaigns/:campaign/feeds', FEED_READS)
  const change = useChange('PUT /api/advertisers/:advertiser/feeds/:feed', FEED_READS)
  const form = useForm<Typed>({ defaultValues: typedOf(feed, campaigns[0]?.id) })

  async function save({ name, url, campaign, every, currency: typed }: Typed): Promise<void> {
    const currency = typed.trim() === '' ? null : typed.trim().toUpperCase()
    if (url !== feed?.source?.url) await expectFeedAt(advertiser, url)
    if (feed) {
      await change.mutateAsync({ params: { advertiser, feed: feed.id }, body: { url, every, currency, campaign } })
      toast(`${feed.name} is saved, and fetched now.`)
    } else {
      await add.mutateAsync({ params: { advertiser, campaign }, body: { name, url, every, currency } })
      toast(`${name} is added, and fetched now.`)
    }
    onClose()
  }

  const actions = (
    <CancelAndSubmit
      onCancel={onClose}
      form="feed"
      isBusy={form.formState.isSubmitting}
      disabled={campaigns.length === 0}
    >
      {feed?.source ? 'Save' : 'Add feed'}
    </CancelAndSubmit>
  )
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={titleFor(feed)}
      description="The file is fetched regularly, and published if it can be read. A new address is checked first."
      actions={actions}
    >
      <Form form={form} onSubmit={save} id="feed">
        {!feed && <NameField form={form} name="name" />}
        <SourceFields form={form} campaigns={campaigns} />
        <FormError form={form} />
      </Form>
    </Dialog>
  )
}

function titleFor(feed: Feed | undefined): string {
  if (!feed) return 'Add a feed by address'
  return feed.source ? `Edit ${feed.name}` : `Fetch ${feed.name} from an address`
}

/** Throws if there is no feed at the address, so that people learn it before they leave. */
async function expectFeedAt(advertiser: string, url: string): Promise<void> {
  const call = { params: { advertiser }, body: { url } }
  const { problem } = await api('POST /api/advertisers/:advertiser/feed-address-checks', call)
  if (problem !== null) throw new ApiError(422, problem, { fields: [{ path: 'url', message: problem }] })
}

function SourceFields({ form, campaigns }: { form: UseFormReturn<Typed>; campaigns: Campaign[] }) {
  return (
    <>
      <FormField
        form={form}
        name="url"
        label="Address"
        hint="HTTPS, at a public server. CSV, TSV, XML (RSS, Atom), JSON or Shopify’s export, packed with gzip or not."
        rules={{ required: 'Enter an address like https://shop.example.com/feed.xml.' }}
      >
        {(field) => <Input {...field} type="url" placeholder="https://shop.example.com/feed.xml" autoComplete="off" />}
      </FormField>
      <CampaignField form={form} name="campaign" campaigns={campaigns} />
      <FormField form={form} name="every" label="How often">
        {(field) => <Select {...field} options={INTERVALS} />}
      </FormField>
      <CurrencyField form={form} name="currency" />
    </>
  )
}

function typedOf(feed: Feed | undefined, firstCampaign = ''): Typed {
  return {
    name: '',
    url: feed?.source?.url ?? '',
    campaign: feed?.campaignId ?? firstCampaign,
    every: feed?.source?.every ?? 'daily',
    currency: feed?.currency ?? '',
  }
}
